//! The reference against data that was written by hand: one module for each part, in one program, since most of them wait.

mod adapter;
mod agentic;
mod agentic_mesh;
mod agentic_mesh_faults;
mod agentic_mesh_server;
mod agentic_state;
mod amp_core;
mod amp_core_faults;
mod amp_core_node;
mod amp_core_server;
mod amp_core_server_faults;
mod amp_support;
mod durability;
mod faults;
mod layers;
mod mesh_support;
mod meshai;
mod meshai_contexts;
mod meshai_faults;
mod meshai_security;
mod meshai_support;
mod server;
mod support;
mod task_amp;
mod task_amp_durability;
mod task_amp_faults;
mod task_amp_server;
mod task_support;
mod transfer;
mod variant;

/// As in the program: a third of the time would be spent in the allocator of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
