/** jest's own realm lacks what Node 22 adds to the main one; Node 24 has it everywhere. */
Symbol.dispose ??= Symbol.for('Symbol.dispose');
Symbol.asyncDispose ??= Symbol.for('Symbol.asyncDispose');
