#!/usr/bin/env node
// Serves the library in task-amp/ through the adapter:
//
//     proofmark check --adapter "node adapters/typescript/task-amp.mjs" --protocol task-amp
import { serve } from "./rpc.mjs";
import { methods } from "./task-amp/methods.mjs";

await serve(methods);
