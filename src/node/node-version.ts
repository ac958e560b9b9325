/** Before anything else is loaded: older ones lack what the other files import, and would only say that. */
const OLDEST = 22;

/** @throws Error that says what is needed. */
export function checkNodeVersion(version: string): void {
  if (!(Number.parseInt(version, 10) >= OLDEST)) {
    throw new Error(
      `spanwise needs Node ${OLDEST} or newer; this is ${version}.`
    );
  }
}

checkNodeVersion(process.versions.node);
