#include "ops/statement_plan.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/index_writes.h"
#include "plan/query_plan.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using expr::Demand;
using expr::Demands;
using model::ValueView;

constexpr size_t kMaxPartitionKeys = 50;  // values of IN on the partition key

Error WrongKeyType(std::string_view name, ValueView value) {
  const model::Type type = value.type();
  if (type != model::Type::kS && type != model::Type::kN && type != model::Type::kB) {
    return ValidationError("Key value must be of type S, N, or B. Key name: " + std::string(name) +
                           ", Key type: " + std::string(model::TypeName(type)));
  }
  return ValidationError(
      "Key attribute's data type should match its data type in table's schema: Key " +
      std::string(name));
}

Status CheckNotEmpty(const model::KeyAttribute& attribute, ValueView value) {
  if (attribute.type == model::Type::kN || !value.text().empty()) return OkStatus();
  return ValidationError(
      std::string(
          "One or more parameter values are not valid. The AttributeValue for a key attribute "
          "cannot contain an empty ") +
      (attribute.type == model::Type::kS ? "string" : "binary") + " value. Key: " + attribute.name);
}

// The names of the keys of a target: its own and those of its table.
std::vector<const model::KeyAttribute*> KeyAttributesOf(const ReadTarget& target) {
  std::vector<const model::KeyAttribute*> all;
  for (const model::KeyAttribute& attribute : target.key().partition) all.push_back(&attribute);
  for (const model::KeyAttribute& attribute : target.key().sort) all.push_back(&attribute);
  if (target.index != nullptr) {
    all.push_back(&target.table->key_schema().partition);
    if (target.table->key_schema().sort) all.push_back(&*target.table->key_schema().sort);
  }
  return all;
}

// Keys are scalars of known types: nothing else can be asked of them.
Status CheckKeyUse(const expr::Condition& condition,
                   const std::vector<const model::KeyAttribute*>& keys) {
  std::vector<std::string_view> names;
  names.reserve(keys.size());
  for (const model::KeyAttribute* key : keys) names.push_back(key->name);
  if (const std::string_view nested = expr::NestedUse(condition, names); !nested.empty()) {
    return ValidationError(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not "
        "allowed: Key: " +
        std::string(nested));
  }
  return OkStatus();
}

Status CheckKeyTypes(const expr::Condition& condition,
                     const std::vector<const model::KeyAttribute*>& keys) {
  for (const expr::Comparison& comparison : expr::ComparisonsOf(condition)) {
    for (const model::KeyAttribute* key : keys) {
      if (key->name != comparison.attribute || key->type == comparison.value.type()) continue;
      return ValidationError(
          "One or more parameter values were invalid: Condition parameter type does not match "
          "schema type");
    }
  }
  return OkStatus();
}

// Makes key ranges of the demands of a condition. Demands that the ranges do not cover become a
// filter.
class RangePlanner {
 public:
  RangePlanner(const ReadTarget& target, const Demands& demands)
      : target_(target), demands_(demands), used_(demands.all.size()) {}

  // Plans the ranges. Returns false if the condition does not fix the partition key: then there are
  // no ranges.
  Result<bool> Plan() {
    const model::IndexKeySchema& schema = target_.key();
    for (const model::KeyAttribute& attribute : schema.partition) {
      const Demand* demand = Find(attribute, [](const Demand& d) { return d.op == Demand::kEq; });
      if (demand == nullptr && schema.partition.size() == 1) {
        demand = Find(attribute, [](const Demand& d) { return d.op == Demand::kIn; });
      }
      if (demand == nullptr) return false;
      partition_.push_back(demand);
    }
    for (size_t i = 0; i < partition_.size(); ++i)
      TRY(CheckTypes(schema.partition[i], *partition_[i]));
    return PlanSort();
  }

  // One interval for each combination of partition key values, in key order.
  Result<std::vector<plan::KeyInterval>> Intervals() const {
    std::vector<plan::KeyInterval> intervals;
    if (partition_.front()->op != Demand::kIn) {
      plan::KeyInterval interval = sort_;
      for (const Demand* demand : partition_)
        interval.partition.emplace_back(demand->value.encoded());
      intervals.push_back(std::move(interval));
      return intervals;
    }
    std::vector<ValueView> values = partition_.front()->values;
    if (values.size() > kMaxPartitionKeys) {
      return ValidationError(
          "The IN operator is provided with too many operands; number of operands: " +
          std::to_string(values.size()));
    }
    std::sort(values.begin(), values.end(),
              [](ValueView a, ValueView b) { return model::CompareValues(a, b) < 0; });
    values.erase(std::unique(values.begin(), values.end(), model::ValuesEqual), values.end());
    for (const ValueView value : values) {
      plan::KeyInterval interval = sort_;
      interval.partition.emplace_back(value.encoded());
      intervals.push_back(std::move(interval));
    }
    return intervals;
  }

  bool filters() const {
    return !demands_.complete || std::find(used_.begin(), used_.end(), false) != used_.end();
  }

 private:
  template <typename Suits>
  const Demand* Find(const model::KeyAttribute& attribute, Suits suits) {
    for (size_t i = 0; i < demands_.all.size(); ++i) {
      const Demand& demand = demands_.all[i];
      if (used_[i] || demand.attribute != attribute.name || !suits(demand)) continue;
      used_[i] = true;
      return &demand;
    }
    return nullptr;
  }

  static Status CheckTypes(const model::KeyAttribute& attribute, const Demand& demand) {
    if (demand.op == Demand::kIn) {
      for (const ValueView value : demand.values) {
        if (value.type() != attribute.type) return WrongKeyType(attribute.name, value);
        TRY(CheckNotEmpty(attribute, value));
      }
      return OkStatus();
    }
    if (demand.value.type() != attribute.type) return WrongKeyType(attribute.name, demand.value);
    TRY(CheckNotEmpty(attribute, demand.value));
    if (demand.op == Demand::kBetween) {
      if (demand.value2.type() != attribute.type)
        return WrongKeyType(attribute.name, demand.value2);
      TRY(CheckNotEmpty(attribute, demand.value2));
    }
    // There is no prefix of a number.
    if (demand.op == Demand::kBeginsWith && attribute.type == model::Type::kN)
      return WrongKeyType(attribute.name, demand.value);
    return OkStatus();
  }

  Result<bool> PlanSort() {
    const std::vector<model::KeyAttribute>& sorts = target_.key().sort;
    for (size_t i = 0; i < sorts.size(); ++i) {
      const model::KeyAttribute& attribute = sorts[i];
      if (const Demand* equal =
              Find(attribute, [](const Demand& d) { return d.op == Demand::kEq; })) {
        TRY(CheckTypes(attribute, *equal));
        if (i + 1 < sorts.size()) {
          sort_.leading.emplace_back(equal->value.encoded());
        } else {
          sort_.lower = sort_.upper = plan::Bound{std::string(equal->value.encoded()), true};
        }
        continue;
      }
      TRY(PlanBounds(attribute));
      break;
    }
    return true;
  }

  // At most one demand for each end.
  Status PlanBounds(const model::KeyAttribute& attribute) {
    if (const Demand* both =
            Find(attribute, [](const Demand& d) { return d.op == Demand::kBetween; })) {
      TRY(CheckTypes(attribute, *both));
      sort_.lower = plan::Bound{std::string(both->value.encoded()), true};
      sort_.upper = plan::Bound{std::string(both->value2.encoded()), true};
      return OkStatus();
    }
    if (const Demand* prefix =
            Find(attribute, [](const Demand& d) { return d.op == Demand::kBeginsWith; })) {
      TRY(CheckTypes(attribute, *prefix));
      sort_.prefix = std::string(prefix->value.encoded());
      return OkStatus();
    }
    const auto is_lower = [](const Demand& d) {
      return d.op == Demand::kGt || d.op == Demand::kGe;
    };
    if (const Demand* lower = Find(attribute, is_lower)) {
      TRY(CheckTypes(attribute, *lower));
      sort_.lower = plan::Bound{std::string(lower->value.encoded()), lower->op == Demand::kGe};
    }
    const auto is_upper = [](const Demand& d) {
      return d.op == Demand::kLt || d.op == Demand::kLe;
    };
    if (const Demand* upper = Find(attribute, is_upper)) {
      TRY(CheckTypes(attribute, *upper));
      sort_.upper = plan::Bound{std::string(upper->value.encoded()), upper->op == Demand::kLe};
    }
    return OkStatus();
  }

  const ReadTarget& target_;
  const Demands& demands_;
  std::vector<bool> used_;
  std::vector<const Demand*> partition_;
  plan::KeyInterval sort_;
};

void AppendAttribute(std::string* entries, const std::string& name, ValueView value) {
  model::AppendName(entries, name);
  entries->append(value.encoded());
}

// The key attributes as an encoded item.
std::string KeyItem(const model::KeySchema& schema, ValueView partition, ValueView sort) {
  std::string entries;
  if (schema.sort && schema.sort->name < schema.partition.name) {
    AppendAttribute(&entries, schema.sort->name, sort);
    AppendAttribute(&entries, schema.partition.name, partition);
  } else {
    AppendAttribute(&entries, schema.partition.name, partition);
    if (schema.sort) AppendAttribute(&entries, schema.sort->name, sort);
  }
  std::string item;
  model::AppendItem(&item, schema.sort ? 2 : 1, entries);
  return item;
}

// A single item of a table, by equality on every key attribute and nothing else that the key would
// have to obey.
Result<bool> PlanItem(const Demands& demands, SelectPlan* plan) {
  if (plan->target.index != nullptr) return false;
  const model::KeySchema& schema = plan->target.table->key_schema();
  const Demand* partition = nullptr;
  const Demand* sort = nullptr;
  for (const Demand& demand : demands.all) {
    if (demand.op != Demand::kEq) continue;
    if (partition == nullptr && demand.attribute == schema.partition.name) partition = &demand;
    if (sort == nullptr && schema.sort && demand.attribute == schema.sort->name) sort = &demand;
  }
  if (partition == nullptr || (schema.sort && sort == nullptr)) return false;
  if (partition->value.type() != schema.partition.type)
    return WrongKeyType(schema.partition.name, partition->value);
  if (schema.sort && sort->value.type() != schema.sort->type)
    return WrongKeyType(schema.sort->name, sort->value);
  plan->key_attributes = KeyItem(schema, partition->value, schema.sort ? sort->value : ValueView());
  TRY(CheckNotEmpty(schema.partition, partition->value));
  if (schema.sort) TRY(CheckNotEmpty(*schema.sort, sort->value));
  plan->item_key = table::EncodeItemKey(schema, model::ItemView(plan->key_attributes));
  return true;
}

Status CheckOrderBy(const expr::Statement& statement, const ReadTarget& target, bool ranged) {
  if (statement.order_by.empty()) return OkStatus();
  if (!statement.condition.present()) {
    return ValidationError("Must have WHERE clause in the statement when using ORDER BY clause.");
  }
  if (!ranged) {
    return ValidationError(
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER "
        "BY clause.");
  }
  for (const expr::OrderBy& order : statement.order_by) {
    if (target.key().Has(order.attribute)) continue;
    return ValidationError("Variable reference " + order.attribute +
                           " in ORDER BY clause must be part of the primary key");
  }
  return OkStatus();
}

// Equality on every key attribute, whatever else is asked.
Result<std::string> KeyOfWrite(const model::KeySchema& schema, const Demands& demands,
                               size_t* used) {
  const auto find = [&](const model::KeyAttribute& attribute) -> Result<ValueView> {
    ValueView value;
    for (const Demand& demand : demands.all) {
      if (demand.op != Demand::kEq || demand.attribute != attribute.name) continue;
      if (value.empty()) {
        value = demand.value;
      } else if (!model::ValuesEqual(value, demand.value)) {
        return ValidationError("Multiple conditions on same key " + attribute.name +
                               ". Only single item Update/Insert/Delete are supported");
      }
      ++*used;
    }
    if (value.empty()) return ValidationError(std::string(kNoKeyEquality));
    return value;
  };
  ASSIGN_OR_RETURN(const ValueView partition, find(schema.partition));
  ValueView sort;
  if (schema.sort) {
    ASSIGN_OR_RETURN(sort, find(*schema.sort));
  }
  if (partition.type() != schema.partition.type)
    return WrongKeyType(schema.partition.name, partition);
  if (schema.sort && sort.type() != schema.sort->type) return WrongKeyType(schema.sort->name, sort);
  return KeyItem(schema, partition, sort);
}

Status CheckInserted(const table::Table& table, model::ItemView item) {
  const model::KeySchema& schema = table.key_schema();
  const auto check = [&](const model::KeyAttribute& attribute) -> Status {
    const ValueView value = item.Find(attribute.name);
    if (value.empty())
      return ValidationError("Key attribute should be present in the item: Key " + attribute.name);
    if (value.type() != attribute.type) return WrongKeyType(attribute.name, value);
    return OkStatus();
  };
  TRY(check(schema.partition));
  if (schema.sort) TRY(check(*schema.sort));
  TRY(CheckKeyContents(schema, item));
  TRY(CheckPutIndexKeys(table, item));
  if (item.size_bytes() > model::kMaxItemBytes) {
    return ValidationError("Item size has exceeded the maximum allowed size");
  }
  return CheckPutSize(table, item);
}

}  // namespace

Result<expr::Statement> ParseStatementOf(const std::string& text,
                                         const std::optional<std::vector<std::string>>& parameters,
                                         const ValueErrors& value_errors) {
  TRY(CheckValues(value_errors, ValuePlace::kParameters));
  if (!parameters) return expr::ParseStatement(text, {});
  return expr::ParseStatement(text, *parameters);
}

Result<SelectPlan> PlanSelect(const Context& ctx, const expr::Statement& statement,
                              bool consistent) {
  SelectPlan plan;
  ASSIGN_OR_RETURN(table::TablePtr table, FindActiveTable(ctx, statement.table));
  if (statement.index) {
    const table::IndexDescriptor* const index = table->descriptor.FindIndex(*statement.index);
    // As captured in August 2026: without the name that Query and Scan add.
    if (index == nullptr || index->state == table::IndexDescriptor::State::kDeleting)
      return ValidationError("The table does not have the specified index");
  }
  ASSIGN_OR_RETURN(plan.target, FindReadTarget(std::move(table), statement.index, consistent));
  const Demands demands = expr::DemandsOf(statement.condition);
  const size_t key_size = plan.target.key().partition.size() + plan.target.key().sort.size();
  ASSIGN_OR_RETURN(const bool single, PlanItem(demands, &plan));
  // The shortest way to one item: nothing else was asked.
  if (single && demands.complete && demands.all.size() == key_size && statement.order_by.empty())
    return plan;

  const std::vector<const model::KeyAttribute*> keys = KeyAttributesOf(plan.target);
  TRY(CheckKeyUse(statement.condition, keys));
  RangePlanner planner(plan.target, demands);
  ASSIGN_OR_RETURN(const bool ranged, planner.Plan());
  TRY(CheckKeyTypes(statement.condition, keys));
  TRY(CheckOrderBy(statement, plan.target, ranged));
  if (!ranged || planner.filters()) plan.filter = statement.condition;
  // A global index has no other attributes than its own; a local one fetches.
  if (plan.target.is_global()) TRY(CheckFilterProjected(plan.target, plan.filter));
  ASSIGN_OR_RETURN(plan.fetch,
                   NeedsFetch(plan.target, std::nullopt, statement.projection, plan.filter));
  if (single) return plan;
  if (!ranged) {
    plan.is_scan = true;
    plan.ranges.push_back(
        {table::FirstKeyOfHash(0, plan.target.kind()), table::EndOfKind(plan.target.kind())});
    return plan;
  }
  ASSIGN_OR_RETURN(const std::vector<plan::KeyInterval> intervals, planner.Intervals());
  for (const plan::KeyInterval& interval : intervals)
    plan.ranges.push_back(RangeOf(plan.target, interval));
  for (const expr::OrderBy& order : statement.order_by) {
    // Attributes of the partition key order the ranges, those of the sort key the items in each.
    // The first ones decide.
    const auto& partition = plan.target.key().partition;
    const bool of_partition =
        std::any_of(partition.begin(), partition.end(),
                    [&](const model::KeyAttribute& a) { return a.name == order.attribute; });
    if (!of_partition) {
      plan.reverse = order.descending;
      break;
    }
  }
  if (!statement.order_by.empty() && statement.order_by.front().descending &&
      statement.order_by.front().attribute == plan.target.key().partition.front().name) {
    std::reverse(plan.ranges.begin(), plan.ranges.end());
  }
  return plan;
}

Result<TransactionAction> PlanWrite(table::TablePtr table, expr::Statement* statement) {
  const model::KeySchema& schema = table->key_schema();
  TransactionAction action;
  if (statement->kind == expr::StatementKind::kInsert) {
    action.kind = TransactionAction::kInsert;
    action.item = std::move(statement->item);
    TRY(CheckInserted(*table, action.view()));
  } else {
    const Demands demands = expr::DemandsOf(statement->condition);
    size_t used = 0;
    ReadTarget target;
    target.table = table;
    const std::vector<const model::KeyAttribute*> keys = KeyAttributesOf(target);
    TRY(CheckKeyUse(statement->condition, keys));
    ASSIGN_OR_RETURN(action.item, KeyOfWrite(schema, demands, &used));
    TRY(CheckKeyContents(schema, action.view()));
    TRY(CheckKeyTypes(statement->condition, keys));
    for (const std::string& attribute : expr::TargetAttributes(statement->update)) {
      if (!schema.Has(attribute)) continue;
      return ValidationError("One or more parameter values were invalid: Cannot update attribute " +
                             attribute + ". This attribute is part of the key");
    }
    switch (statement->kind) {
      case expr::StatementKind::kUpdate:
        action.kind = TransactionAction::kUpdate;
        action.if_missing = TransactionAction::kFails;
        break;
      case expr::StatementKind::kDelete:
        action.kind = TransactionAction::kDelete;
        action.if_missing = TransactionAction::kPasses;
        break;
      default:
        action.kind = TransactionAction::kConditionCheck;
        action.if_missing = TransactionAction::kFails;
        break;
    }
    if (!demands.complete || used < demands.all.size()) action.condition = statement->condition;
    action.update = statement->update;
  }
  action.key = table::EncodeItemKey(schema, action.view());
  action.table_name = std::move(statement->table);
  action.table = std::move(table);
  return action;
}

}  // namespace stator::ops
