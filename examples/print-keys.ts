/**
 * A callback of your own: prints the key of every task when it begins.
 *
 *     node print-keys.js
 */
import { Callback, getSync, ref, task, type Key } from 'spanwise';

const inc = (x: number) => x + 1;
const add = (x: number, y: number) => x + y;

const graph = {
  a: task(inc, 1),
  b: task(add, 3, ref('a')),
  c: task(add, ref('a'), ref('b'))
};

class PrintKeys extends Callback {
  override pretask(key: Key): void {
    console.log(`Computing: ${key}!`);
  }
}

// For every run from now on …
const printKeys = new PrintKeys();
printKeys.register();
console.log(getSync(graph, 'c'));
printKeys.unregister();

// … or around some, here without a class.
const printing = new Callback({
  pretask: key => console.log(`Computing: ${key}!`)
});
console.log(printing.run(() => getSync(graph, 'c')));
