// Answers queries over a catalog of invented products until it is killed.
#include <cstdio>
#include <random>
#include <string>

#include "index.h"

namespace {

std::string invented_text(std::mt19937& random, int words) {
  static const char* const syllables[] = {"ka", "lo", "mi", "ter", "sun", "bra", "pel", "dor"};
  std::string text;
  for (int word = 0; word < words; ++word) {
    for (int length = 1 + static_cast<int>(random() % 4); length > 0; --length) text += syllables[random() % 8];
    text += ' ';
  }
  return text;
}

}  // namespace

int main() {
  std::mt19937 random(7);
  Index index;
  for (std::uint32_t document = 0; document < 2000; ++document) index.add(document, invented_text(random, 40));
  std::printf("%zu words\n", index.words());
  std::fflush(stdout);
  double sum = 0;
  for (;;) {
    for (const Hit& hit : index.search(invented_text(random, 3), 10)) sum += hit.score;
    if (sum < 0) std::printf("%f\n", sum);  // never: keeps the loop
  }
}
