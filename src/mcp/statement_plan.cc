#include "mcp/statement_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace stator::mcp {
namespace {

using expr::Demand;

struct Keys {
  std::vector<std::string_view> partition;
  std::vector<std::string_view> sort;
};

Keys KeysOf(Json described) {
  Keys keys;
  const std::optional<Json> schema = Member(described, "KeySchema");
  simdjson::dom::array elements;
  if (!schema || schema->get(elements) != simdjson::SUCCESS) return keys;
  for (const Json element : elements) {
    const std::string_view name = TextMember(element, "AttributeName").value_or("");
    (TextMember(element, "KeyType") == "HASH" ? keys.partition : keys.sort).push_back(name);
  }
  return keys;
}

std::vector<std::pair<std::string_view, Keys>> IndexesOf(Json table) {
  std::vector<std::pair<std::string_view, Keys>> indexes;
  for (const char* kind : {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}) {
    const std::optional<Json> list = Member(table, kind);
    simdjson::dom::array elements;
    if (!list || list->get(elements) != simdjson::SUCCESS) continue;
    for (const Json element : elements)
      indexes.emplace_back(TextMember(element, "IndexName").value_or(""), KeysOf(element));
  }
  return indexes;
}

// Takes demands away as keys fulfil them.
class Uses {
 public:
  explicit Uses(const expr::Demands& demands) : demands_(demands), used_(demands.all.size()) {}

  template <typename Suits>
  const Demand* Take(std::string_view attribute, Suits suits) {
    for (size_t i = 0; i < demands_.all.size(); ++i) {
      const Demand& demand = demands_.all[i];
      if (used_[i] || demand.attribute != attribute || !suits(demand)) continue;
      used_[i] = true;
      by_key_.emplace_back(attribute);
      return &demand;
    }
    return nullptr;
  }
  const Demand* TakeEqual(std::string_view attribute) {
    return Take(attribute, [](const Demand& demand) { return demand.op == Demand::kEq; });
  }
  bool any_left() const {
    return !demands_.complete || std::find(used_.begin(), used_.end(), false) != used_.end();
  }
  std::vector<std::string> by_key() const {
    std::vector<std::string> names = by_key_;
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

 private:
  const expr::Demands& demands_;
  std::vector<bool> used_;
  std::vector<std::string> by_key_;
};

// The number of partition keys that the condition fixes; 0: not all of their attributes.
int64_t TakePartition(const Keys& keys, Uses* uses) {
  if (keys.partition.empty()) return 0;
  for (const std::string_view attribute : keys.partition) {
    if (uses->TakeEqual(attribute) != nullptr) continue;
    if (keys.partition.size() > 1) return 0;
    const Demand* const in =
        uses->Take(attribute, [](const Demand& demand) { return demand.op == Demand::kIn; });
    return in == nullptr ? 0 : static_cast<int64_t>(in->values.size());
  }
  return 1;
}

// Equality on sort key attributes from the left, then one range.
void TakeSort(const Keys& keys, Uses* uses) {
  for (const std::string_view attribute : keys.sort) {
    if (uses->TakeEqual(attribute) != nullptr) continue;
    const auto both = [](const Demand& demand) {
      return demand.op == Demand::kBetween || demand.op == Demand::kBeginsWith;
    };
    if (uses->Take(attribute, both) != nullptr) return;
    uses->Take(attribute, [](const Demand& demand) {
      return demand.op == Demand::kGt || demand.op == Demand::kGe;
    });
    uses->Take(attribute, [](const Demand& demand) {
      return demand.op == Demand::kLt || demand.op == Demand::kLe;
    });
    return;
  }
}

std::string Joined(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

std::string SourceOf(const StatementPlan& plan) {
  return plan.index ? fmt::format("the index {} of {}", *plan.index, plan.table)
                    : fmt::format("the table {}", plan.table);
}

// Says how a scan becomes a query.
std::string AdviceForScan(const expr::Demands& demands, const StatementPlan& plan, Json table,
                          const Keys& keys) {
  std::vector<std::pair<std::string_view, Keys>> others = IndexesOf(table);
  others.emplace_back("", KeysOf(table));
  for (const auto& [name, other] : others) {
    if (plan.index.value_or("") == name) continue;
    Uses uses(demands);
    if (TakePartition(other, &uses) == 0) continue;
    return fmt::format("FROM \"{}\"{} reads only items with that {}", plan.table,
                       name.empty() ? "" : fmt::format(".\"{}\"", name), Joined(other.partition));
  }
  return fmt::format(
      "Fix the partition key by = in the WHERE, joined to the rest by AND: here it is {}; or add "
      "an "
      "index whose partition key the WHERE fixes",
      Joined(keys.partition));
}

}  // namespace

std::string StatementPlan::Render() const {
  constexpr std::string_view kNames[] = {"item", "query", "scan"};
  ObjectText out;
  out.AddText("access", kNames[static_cast<int>(access)]).AddText("table", table);
  if (index) out.AddText("index", *index);
  out.AddBool("full_scan", access == Access::kScan);
  if (access == Access::kQuery) out.AddWhole("partition_keys", partition_keys);
  ArrayText names;
  for (const std::string& name : by_key) names.Add(Quoted(name));
  out.Add("conditions_by_key", names.Take()).AddBool("filters_what_is_read", filters);
  out.AddText("says", says);
  if (!advice.empty()) out.AddText("advice", advice);
  return out.Take();
}

Result<StatementPlan> PlanSelect(const expr::Statement& statement, Json table) {
  StatementPlan plan;
  plan.table = statement.table;
  plan.index = statement.index;
  Keys keys = KeysOf(table);
  if (statement.index) {
    bool found = false;
    for (auto& [name, index] : IndexesOf(table)) {
      if (name != *statement.index) continue;
      keys = std::move(index);
      found = true;
    }
    if (!found) {
      return ValidationError(
          fmt::format("The table {} has no index {}", statement.table, *statement.index));
    }
  }
  const expr::Demands demands = expr::DemandsOf(statement.condition);
  Uses uses(demands);
  plan.partition_keys = TakePartition(keys, &uses);
  if (plan.partition_keys == 0) {
    plan.filters = statement.condition.present();
    plan.says =
        fmt::format("Full scan: it reads all items of {}, whatever it returns", SourceOf(plan));
    plan.advice = AdviceForScan(demands, plan, table, keys);
    return plan;
  }
  TakeSort(keys, &uses);
  plan.by_key = uses.by_key();
  plan.filters = uses.any_left();
  Uses whole(demands);
  bool is_item = !statement.index.has_value();
  for (const auto* part : {&keys.partition, &keys.sort})
    for (const std::string_view attribute : *part) is_item &= whole.TakeEqual(attribute) != nullptr;
  plan.access = is_item ? StatementPlan::Access::kItem : StatementPlan::Access::kQuery;
  if (is_item) {
    plan.says = fmt::format("It reads one item of {}, by its key", SourceOf(plan));
    return plan;
  }
  plan.says = fmt::format("It queries {} by {} for {} partition key{}", SourceOf(plan),
                          Joined({plan.by_key.begin(), plan.by_key.end()}), plan.partition_keys,
                          plan.partition_keys == 1 ? "" : "s");
  if (plan.filters) {
    plan.says += ", and drops what the rest of the WHERE does not want after it was read";
    if (!keys.sort.empty() && plan.by_key.size() <= keys.partition.size()) {
      plan.advice =
          fmt::format("A condition on the sort key {} would read less", Joined(keys.sort));
    }
  }
  return plan;
}

}  // namespace stator::mcp
