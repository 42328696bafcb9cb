/* JSON Merge Patch (RFC 7396): what is null in a patch goes, objects are merged, everything else takes the place of what was. */

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Whatever the name: `__proto__` and `constructor` are names like others, for a federate too. */
export const own = (object, name) => (object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined);

const set = (object, name, value) =>
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });

/** The target as the patch leaves it.  The target itself is not changed: parts that the patch does not name are shared. */
export function merged(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else set(result, name, merged(own(result, name), value));
  }
  return result;
}
