#!/usr/bin/env node
// Serves the library in meshai/ through the adapter:
//
//     proofmark check --adapter "node adapters/typescript/meshai.mjs" --protocol meshai
import { methods } from "./meshai/methods.mjs";
import { serve } from "./rpc.mjs";

await serve(methods);
