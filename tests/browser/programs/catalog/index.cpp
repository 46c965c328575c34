#include "index.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

namespace {

// Calls `each` with every word of a text, in lower case.
template <typename Each>
void for_each_word(std::string_view text, Each each) {
  std::string word;
  for (char character : text) {
    if (std::isalnum(static_cast<unsigned char>(character))) {
      word.push_back(static_cast<char>(std::tolower(character)));
    } else if (!word.empty()) {
      each(word);
      word.clear();
    }
  }
  if (!word.empty()) each(word);
}

}  // namespace

void Index::add(std::uint32_t document, std::string_view text) {
  for_each_word(text, [&](const std::string& word) {
    auto& documents = postings_[word];
    if (documents.empty() || documents.back() != document) documents.push_back(document);
  });
}

std::vector<Hit> Index::search(std::string_view query, std::size_t most) const {
  std::map<std::uint32_t, double> scores;
  for_each_word(query, [&](const std::string& word) {
    for (const auto& [known, documents] : postings_) {
      // Words with a typing error are found as well.
      const std::size_t edits = edit_distance(word, known);
      if (edits > 1) continue;
      const double rarity = std::log(1.0 + 1000.0 / static_cast<double>(documents.size()));
      for (std::uint32_t document : documents) scores[document] += rarity / static_cast<double>(1 + edits);
    }
  });
  std::vector<Hit> hits;
  for (const auto& [document, score] : scores) hits.push_back({document, score});
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
  if (hits.size() > most) hits.resize(most);
  return hits;
}

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t column = 0; column <= right.size(); ++column) row[column] = column;
  for (std::size_t line = 1; line <= left.size(); ++line) {
    std::size_t diagonal = row[0];
    row[0] = line;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const std::size_t above = row[column];
      const std::size_t replaced = diagonal + (left[line - 1] != right[column - 1]);
      row[column] = std::min({above + 1, row[column - 1] + 1, replaced});
      diagonal = above;
    }
  }
  return row[right.size()];
}
