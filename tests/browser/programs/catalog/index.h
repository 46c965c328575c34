// An inverted index: which documents contain a word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct Hit {
  std::uint32_t document;
  double score;
};

class Index {
 public:
  void add(std::uint32_t document, std::string_view text);
  std::vector<Hit> search(std::string_view query, std::size_t most) const;
  std::size_t words() const { return postings_.size(); }

 private:
  std::unordered_map<std::string, std::vector<std::uint32_t>> postings_;
};

// Number of edits that turn one word into the other.
std::size_t edit_distance(std::string_view left, std::string_view right);
