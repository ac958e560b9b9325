/**
 * Node's test environment of jest, in an ordinary context. In the one that jest makes, each use of a
 * global such as `Math` or `Map` asks an object outside first: what computes much, such as drawn runs
 * of the scheduler, takes a third to a half of its time for that.
 */
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

class NodeEnvironment extends TestEnvironment {
  constructor(config, context) {
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }
}

module.exports = NodeEnvironment;
