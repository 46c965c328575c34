// Templates of the standard library, inlined many levels deep.
#include <algorithm>
#include <map>
#include <numeric>
#include <regex>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace shop {
struct Order {
    std::string customer;
    int amount;
};

struct ByAmount {
    bool operator()(const Order &one, const Order &other) const { return one.amount < other.amount; }
};

template <typename Map> __attribute__((noinline)) long tally(const std::vector<Order> &orders)
{
    Map totals;
    for (const auto &order : orders)
        totals[order.customer] += order.amount;
    return std::accumulate(totals.begin(), totals.end(), 0L, [](long sum, const auto &entry) { return sum + entry.second; });
}
}  // namespace shop

int main()
{
    alarm(900);
    volatile long sink = 0;
    for (unsigned seed = 1;; seed++) {
        std::vector<shop::Order> orders;
        for (unsigned i = 0; i < 5000; i++)
            orders.push_back({"customer-" + std::to_string((i * seed * 2654435761u) % 997), int(i * seed % 1009)});
        std::sort(orders.begin(), orders.end(), shop::ByAmount());
        sink += shop::tally<std::map<std::string, long>>(orders);
        sink += shop::tally<std::unordered_map<std::string, long>>(orders);
        static const std::regex digits("([0-9]+)-?");
        for (unsigned i = 0; i < 50; i++)
            sink += std::regex_search(orders[i].customer, digits);
    }
}
