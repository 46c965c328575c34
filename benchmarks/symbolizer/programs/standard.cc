// Much of the C++ standard library inlined into one program: templates, lambdas, exceptions, streams.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

template <typename Key, typename Value>
Value tally(const std::vector<Key> &keys, const std::vector<Value> &values)
{
    std::map<Key, Value> ordered;
    std::unordered_map<Key, std::vector<Value>> grouped;
    for (std::size_t i = 0; i < keys.size(); i++) {
        ordered[keys[i]] += values[i % values.size()];
        grouped[keys[i]].push_back(values[i % values.size()]);
    }
    Value sum{};
    for (auto &[key, group] : grouped) {
        std::sort(group.begin(), group.end(), std::greater<Value>());
        std::stable_sort(group.begin(), group.end());
        sum += std::accumulate(group.begin(), group.end(), ordered.at(key));
    }
    std::set<Key> distinct(keys.begin(), keys.end());
    std::priority_queue<Value> heap(values.begin(), values.end());
    std::deque<Value> line(values.begin(), values.end());
    std::list<Value> chain(line.rbegin(), line.rend());
    chain.sort();
    chain.unique();
    return sum + static_cast<Value>(distinct.size()) + heap.top() + chain.front();
}

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
template <int N> struct Polygon : Shape {
    double side = N;
    double area() const override { return N * side * side / (4 * std::tan(3.14159265 / N)); }
};

template <int... Sides> double areas(std::integer_sequence<int, Sides...>)
{
    std::vector<std::shared_ptr<Shape>> shapes{std::make_shared<Polygon<Sides + 3>>()...};
    std::shuffle(shapes.begin(), shapes.end(), std::mt19937_64(7));
    return std::transform_reduce(shapes.begin(), shapes.end(), 0.0, std::plus<>(),
                                 [](const auto &shape) { return shape->area(); });
}

static std::string words(const std::string &text)
{
    std::regex word("([a-z]+)|([0-9]+(\\.[0-9]*)?)", std::regex::icase | std::regex::optimize);
    std::ostringstream out;
    for (std::sregex_iterator match(text.begin(), text.end(), word), end; match != end; ++match)
        out << std::setw(12) << std::left << (*match)[0].str() << std::hex << match->position() << '\n';
    std::variant<int, double, std::string> value = out.str();
    return std::visit(
        [](auto &&held) -> std::string {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>)
                return std::to_string(held);
            else
                return held;
        },
        value);
}

static std::uint64_t walk(const std::filesystem::path &root)
{
    std::uint64_t bytes = 0;
    std::error_code ignored;
    for (std::filesystem::recursive_directory_iterator entry(root, ignored), end; entry != end; entry.increment(ignored))
        if (entry->is_regular_file(ignored))
            bytes += entry->file_size(ignored) + entry->path().extension().string().size();
    return bytes;
}

int main(int argc, char **argv)
{
    std::vector<std::string> names(argv, argv + argc);
    std::vector<int> numbers(100 + argc);
    std::iota(numbers.begin(), numbers.end(), argc);
    std::vector<double> reals(numbers.begin(), numbers.end());
    std::vector<std::uint64_t> wide(numbers.begin(), numbers.end());
    std::mutex lock;
    double total = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            double part = tally(names, reals) + tally(numbers, reals) + tally(reals, wide) + tally(wide, numbers);
            std::lock_guard<std::mutex> held(lock);
            total += part + i;
        });
    for (auto &thread : threads)
        thread.join();
    try {
        if (argc > 9)
            throw std::out_of_range(words(names.at(argc + 1)));
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
    }
    std::function<double(double)> square = [](double x) { return std::norm(std::complex<double>(x, 1)); };
    std::cout << words("of 12 trees 3.5 fell") << total << ' ' << square(total) << ' '
              << areas(std::make_integer_sequence<int, 40>()) << ' ' << walk(argc > 1 ? names[1] : ".") << '\n';
    return 0;
}
