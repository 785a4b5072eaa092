#!/usr/bin/env node
// Serves the library in agentic/ through the adapter:
//
//     proofmark check --adapter "node adapters/typescript/agentic.mjs" --protocol agentic
import { methods } from "./agentic/methods.mjs";
import { serve } from "./rpc.mjs";

await serve(methods);
