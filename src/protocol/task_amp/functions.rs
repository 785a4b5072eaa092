//! Functions of templates that only this protocol has.

use crate::template::{Arguments, Function, RenderError};
use crate::value::Value;

/// The number of tasks that one case may have.
const TASKS_OF_A_CASE: u64 = 4;

/// Every function.
pub(super) const FUNCTIONS: &[Function] = &[Function {
    name: "task_id",
    summary: "The id of a task that belongs to this case alone; the argument numbers the tasks of a case, from 0 to 3.",
    example: "${task_id 1}",
    call: task_id,
}];

/// `T-YYYY-NNN`: the first year comes from the seed of the run, and the number of the case selects year and serial (binding,
/// section 1).
fn task_id(arguments: &mut Arguments<'_>) -> Result<Value, RenderError> {
    let which = match arguments.word(0) {
        Some(word) => word
            .parse()
            .ok()
            .filter(|which| *which < TASKS_OF_A_CASE)
            .ok_or_else(|| RenderError::new("expected 0 to 3"))?,
        None => 0,
    };
    let number = |name: &str| {
        let value = arguments.binding(name).and_then(Value::as_integer);
        value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
    };
    let number_of_task = number("ordinal") * TASKS_OF_A_CASE + which;
    let first_year = 2100 + number("run") % 800;
    let (year, serial) = (first_year + number_of_task / 999, 1 + number_of_task % 999);
    Ok(Value::text(format!("T-{year:04}-{serial:03}")))
}
