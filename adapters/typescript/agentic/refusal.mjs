/** The names of errors (section 8), and one for each refusal without a name there. */
export const INVALID_SCHEMA = "invalid_schema";
export const DUPLICATE_PACKAGE_ID = "duplicate_package_id";
export const PACKAGE_NOT_FOUND = "package_not_found";
export const INVALID_TRANSITION = "invalid_transition";
export const HASH_MISMATCH = "hash_mismatch";
export const NOT_CANONICALIZABLE = "not_canonicalizable";
export const FACT_CONFLICT = "fact_conflict";

/** The library refuses a request. */
export class Refusal extends Error {
  /**
   * @param {string} code one of the names above
   * @param {string} message
   * @param {string} [pointer] where in the input it is wrong
   */
  constructor(code, message, pointer) {
    super(message);
    this.code = code;
    this.pointer = pointer;
  }
}
