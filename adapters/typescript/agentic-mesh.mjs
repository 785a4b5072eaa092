#!/usr/bin/env node
// Serves the library in agentic-mesh/ through the adapter:
//
//     proofmark check --adapter "node adapters/typescript/agentic-mesh.mjs" --protocol agentic-mesh
import { methods } from "./agentic-mesh/methods.mjs";
import { serve } from "./rpc.mjs";

await serve(methods);
