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

  it('never exceeds the room and never invents text', () => {
    const names = [
      'core::ptr::drop_in_place<alloc::vec::Vec<(u32, alloc::string::String)>>',
      '<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend',
      'std::function<void (int)>::operator()(int) const [clone .isra.0]',
      'java.util.concurrent.ThreadPoolExecutor$Worker.run',
      'github.com/x/y/pkg.(*T).Method.func1',
      'a->b::c<d>(e)',
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
