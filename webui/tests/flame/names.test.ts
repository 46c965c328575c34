import { describe, expect, it } from 'vitest';
import { shorten } from '../../src/flame/names.ts';

describe('shorten', () => {
  it.each([
    ['main', 10, 'main'],
    ['libsqlite3.so.0.8.6+0xfc9b0', 16, 'libsqli…+0xfc9b0'],
    ['libsqlite3.so.0.8.6+0xfc9b0', 9, '+0xfc9b0'],
    ['libsqlite3.so.0.8.6+0xfc9b0', 6, '+0xfc…'],
    ['sympy.core.mul.Mul.flatten', 12, 'Mul.flatten'],
    ['std::vector<std::pair<int, int>>::push_back(int)', 30, 'std::vector::push_back(int)'],
    ['std::vector<std::pair<int, int>>::push_back(int)', 25, 'std::vector::push_back'],
    ['std::vector<std::pair<int, int>>::push_back(int)', 18, 'vector::push_back'],
    ['search::Index::lookup(search::Query const&) const', 25, 'search::Index::lookup'],
    ['net/http.(*conn).serve', 20, 'http.(*conn).serve'],
    ['net/http.(*conn).serve', 14, '(*conn).serve'],
    ['a.b.f.<locals>.<lambda>', 10, '<lambda>'],
    ['json.encoder.<lambda>', 16, 'encoder.<lambda>'],
    ['<module>', 10, '<module>'],
    ['ns::Vec<std::pair<int, int>>::operator()(int)', 20, 'ns::Vec::operator()'],
    ['operator<<', 12, 'operator<<'],
    ['do_very_long_plain_c_function', 10, 'do_very_l…'],
    ['libcrypto.so.3+0x1a2b', 30, 'libcrypto.so.3+0x1a2b'],
    ['anything', 2, ''],
  ])('%s in %i characters', (full, room, expected) => {
    expect(shorten(full, room)).toBe(expected);
  });

  it.each([
    // A compiler's suffix comes back if it fits.
    ['finish_task_switch.isra.0', 25, 'finish_task_switch.isra.0'],
    ['finish_task_switch.isra.0', 24, 'finish_task_switch'],
    ['finish_task_switch.isra.0', 12, 'finish_task…'],
    ['__do_sys_epoll_wait.part.0.cold.12', 20, '__do_sys_epoll_wait'],
    ['some_ns::quux.llvm.12', 12, 'quux.llvm.12'],
    ['runtime.goexit.abi0', 18, 'runtime.goexit'],
    ['runtime.goexit.abi0', 12, 'goexit.abi0'],
    ['runtime.goexit.abi0', 7, 'goexit'],
    ['runtime.systemstack.abi0', 16, 'systemstack.abi0'],
    ['runtime.memmove.abiInternal', 14, 'memmove'],
    ['_PyEval_EvalFrameDefault.cold', 28, '_PyEval_EvalFrameDefault'],
    ['memcpy@@GLIBC_2.14', 12, 'memcpy'],
    ['pkg/@scope.handler', 9, 'handler'],
    [
      'std::_Executor<char, true>::_M_dfs(long) [clone .constprop.0] [clone .isra.0]',
      30,
      'std::_Executor::_M_dfs(long)',
    ],
    ['std::panicking::try::do_call::h0123456789abcdef', 30, 'std::panicking::try::do_call'],
    // A closure belongs to the function before it.
    ['acme.dev/checkout/internal/trace.Middleware.func1', 22, 'trace.Middleware.func1'],
    ['acme.dev/checkout/internal/trace.Middleware.func1', 16, 'Middleware.func1'],
    ['acme.dev/checkout/internal/trace.Middleware.func1', 12, 'Middleware'],
    ['main.(*Cache[go.shape.string,go.shape.int]).Get.func1.2', 18, 'Get.func1.2'],
    ['acme.dev/block.glob..func3', 12, 'glob..func3'],
    ['net/http.(*conn).serve-fm', 20, '(*conn).serve-fm'],
    ['core::ops::function::FnOnce::call_once{{vtable.shim}}', 30, 'call_once{{vtable.shim}}'],
    ['core::ops::function::FnOnce::call_once{{vtable.shim}}', 20, 'call_once'],
    ['alloc::vec::Vec<T,A>::retain_mut::{{closure}}', 24, 'retain_mut::{{closure}}'],
    ['alloc::vec::Vec<T,A>::retain_mut::{{closure}}', 20, 'retain_mut'],
    ['tokio::task::poll::{closure#0}::{closure#1}', 32, 'poll::{closure#0}::{closure#1}'],
    ['search::rank(Query&)::{lambda(int)#1}::operator()(int) const', 9, 'rank'],
    ['main::{lambda(int)#1}::operator()(int) const', 34, 'main::{lambda(int)#1}::operator()'],
    // Java, Python, Node.js.
    ['java.util.concurrent.ThreadPoolExecutor$Worker.run', 30, 'ThreadPoolExecutor$Worker.run'],
    ['acme.orders.api.Handler.lambda$handle$0', 24, 'Handler.lambda$handle$0'],
    ['com.acme.Foo$$Lambda/0x00007f1234.run', 12, 'run'],
    ['django.core.handlers.base.BaseHandler._get_response', 26, 'BaseHandler._get_response'],
    ['app.views.retry.<locals>.wrapper', 12, 'wrapper'],
    ['node:internal/process/task_queues.processTicksAndRejections', 30, 'processTicksAndRejections'],
    ['Function.prototype.call', 14, 'prototype.call'],
    // Brackets of types.
    ['slices.pdqsortCmpFunc[go.shape.struct { a int }]', 24, 'slices.pdqsortCmpFunc'],
    ['operator new[](unsigned long)', 16, 'operator new[]'],
    ['std::map<int,int>::operator[](int const&)', 16, 'map::operator[]'],
  ])('%s in %i characters: a copy or closure keeps its function', (full, room, expected) => {
    expect(shorten(full, room)).toBe(expected);
  });

  it('never exceeds the room and never invents text', () => {
    const names = [
      'core::ptr::drop_in_place<alloc::vec::Vec<(u32, alloc::string::String)>>',
      '<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend',
      'std::function<void (int)>::operator()(int) const [clone .isra.0]',
      'java.util.concurrent.ThreadPoolExecutor$Worker.run',
      'github.com/x/y/pkg.(*T).Method.func1',
      'a->b::c<d>(e)',
      'tokio::task::poll::{closure#0}::{closure#1}.llvm.42',
      'memcpy@@GLIBC_2.14',
      '.isra.0',
      '.abi0',
      '{{closure}}',
      '.func1',
      '((((',
      '>>>>::<<<<',
    ];
    for (const name of names) {
      for (let room = 0; room < 80; room++) {
        const short = shorten(name, room);
        expect(short.length).toBeLessThanOrEqual(Math.max(room, 0));
        const letters = short.replace('…', '');
        let at = -1;
        for (const c of letters) {
          at = name.indexOf(c, at + 1);
          expect(at, `${short} of ${name}`).toBeGreaterThanOrEqual(0);
        }
      }
    }
  });
});
