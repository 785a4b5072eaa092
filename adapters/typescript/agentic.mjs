#!/usr/bin/env node
// Puts the library in agentic/ behind an adapter:
//
//     proofmark check --adapter "node adapters/typescript/agentic.mjs" --protocol agentic
import { methods } from "./agentic/methods.mjs";
import { serve } from "./rpc.mjs";

await serve(methods);
