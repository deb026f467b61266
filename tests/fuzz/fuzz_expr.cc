// libFuzzer: arbitrary text as every kind of expression, run against an item.
//
// The first byte picks what the text is parsed as. Checked are: nothing crashes, an error is a
// validation error, a compiled form gives the same answer twice, every item that comes out follows
// the grammar of items, evaluations keep to the bound of steps that is known before, and the cost
// of all that is linear in the text, though values and attributes are large.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cost.h"
#include "expr/expr.h"
#include "expr/test_notation.h"

namespace stator::expr {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Large values make products of sizes show: 64 KB searched for 32 KB that differ at their end.
constexpr size_t kLarge = 64 << 10;
std::string Text(size_t size, std::string_view end) {
  std::string encoded;
  model::AppendString(&encoded, std::string(size, 'a').append(end));
  return encoded;
}

Substitutions MakeSubstitutions() {
  Substitutions subs;
  Require(subs.SetNames({{"#a", "a"}, {"#b", "b"}, {"#l", "l"}, {"#m", "m"}, {"#d", "a.b"}}).ok());
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{":s", "'x'"},
                                                                  {":n", "1"},
                                                                  {":m", "-2.5"},
                                                                  {":b", "x'ab'"},
                                                                  {":l", "['x', 1]"},
                                                                  {":q", "{a: 'x'}"},
                                                                  {":e", "<'a', 'b'>"},
                                                                  {":f", "<1, 2>"},
                                                                  {":t", "'S'"},
                                                                  {":o", "true"},
                                                                  {":z", "null"}}) {
    values.emplace_back(key, notation::Value(value));
  }
  values.emplace_back(":x", Text(kLarge / 2, "b"));
  Require(subs.SetValues(std::move(values)).ok());
  return subs;
}

// The small item and the large attributes "w" (a set of 4,000 texts), "x" and "y" (a text of 64 KB,
// a list of 8,000 nulls).
const std::string& LargeItem();

const std::string& Item() {
  static const std::string item = notation::Item(
      "{pk: 'k', a: 1, b: 'text', l: [0, 'x', [1, 2], {x: 1}], m: {a: 'x', l: [1], m: {a: 5}}, s: "
      "<'a', 'c'>, n: <1, 3>,"
      " z: null, o: true, bin: x'abc', a.b: 'dotted'}");
  return item;
}

const std::string& LargeItem() {
  static const std::string item = [] {
    std::vector<std::string> members;
    for (int i = 0; i < 4000; ++i) members.push_back(std::to_string(100'000 + i));
    std::string set;
    model::AppendSet(&set, model::Type::kSS, {members.begin(), members.end()});
    std::string nulls;
    for (int i = 0; i < 8000; ++i) model::AppendNull(&nulls);
    std::string list;
    model::AppendList(&list, 8000, nulls);
    std::string entries;
    size_t count = 0;
    const auto add = [&](std::string_view name, std::string_view value) {
      model::AppendName(&entries, name);
      entries.append(value);
      ++count;
    };
    for (const auto& entry : model::ItemView(Item()).attributes()) {
      if (entry.name < "w") add(entry.name, entry.value.encoded());
    }
    add("w", set);
    add("x", Text(kLarge, ""));
    add("y", list);
    std::string out;
    model::AppendItem(&out, count, entries);
    return out;
  }();
  return item;
}

void CheckErrorCode(const Error& error) {
  Require(error.code() == ErrorCode::kValidation && !error.message().empty());
}

void RunCondition(std::string_view text, Role role) {
  Substitutions subs = MakeSubstitutions();
  const Result<Condition> condition = ParseCondition(text, role, &subs);
  if (!condition.ok()) return CheckErrorCode(condition.error());
  const model::ItemView item(Item());
  Require(Evaluate(*condition, item) == Evaluate(*condition, item));
  Evaluate(*condition, model::ItemView());
  uint64_t steps = 0;
  Evaluate(*condition, model::ItemView(LargeItem()), &steps);
  Require(steps <= MostSteps(*condition, LargeItem().size()));
  TopLevelAttributes(*condition);
  const Result<std::vector<KeyConditionPart>> parts = ExtractKeyConditions(*condition);
  if (!parts.ok()) return CheckErrorCode(parts.error());
  Require(!parts->empty() && parts->size() <= 2);
}

void RunProjection(std::string_view text) {
  Substitutions subs = MakeSubstitutions();
  const Result<Projection> projection = ParseProjection(text, &subs);
  if (!projection.ok()) return CheckErrorCode(projection.error());
  Require(model::CheckItem(Project(*projection, model::ItemView(LargeItem()))).ok());
  const std::string once = Project(*projection, model::ItemView(Item()));
  Require(model::CheckItem(once).ok());
  // Lists are compacted, so only projections without indexes can be repeated.
  if (text.find('[') == std::string_view::npos)
    Require(Project(*projection, model::ItemView(once)) == once);
  TopLevelAttributes(*projection);
}

void RunUpdate(std::string_view text, bool item_exists) {
  Substitutions subs = MakeSubstitutions();
  const Result<Update> update = ParseUpdate(text, &subs);
  if (!update.ok()) return CheckErrorCode(update.error());
  static const std::string key = notation::Item("{pk: 'k'}");
  const model::ItemView old_item = item_exists ? model::ItemView(Item()) : model::ItemView();
  const Result<Updated> updated = ApplyUpdate(*update, old_item, model::ItemView(key));
  if (!updated.ok()) return CheckErrorCode(updated.error());
  const Result<Updated> large =
      ApplyUpdate(*update, model::ItemView(LargeItem()), model::ItemView(key));
  if (!large.ok()) CheckErrorCode(large.error());
  Require(updated->item.empty() == (!item_exists && OnlyRemoves(*update)));
  if (updated->item.empty()) return;
  Require(model::CheckItem(updated->item).ok());
  const std::string fragments = UpdatedFragments(*update, model::ItemView(updated->item));
  Require(fragments.empty() || model::CheckItem(fragments).ok());
  UpdatedFragments(*update, old_item);
}

}  // namespace
}  // namespace stator::expr

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stator::expr;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  LargeItem();  // made once, and not judged
  // "contains(x,:x) " takes 0.3 ms per 15 bytes, and as much memory for "SET a=x,".
  const stator::fuzz::CostBound bound{
      .nanos_per_byte = 400'000, .nanos = 20'000'000, .bytes_per_byte = 400'000, .bytes = 8 << 20};
  // A fault of an operator shows in the sizes of its operands.
  const size_t operands = text.find(":x") == std::string_view::npos ? 0 : kLarge / 2;
  const auto run = [&] {
    switch (data[0] % 6) {
      case 0: RunCondition(text, Role::kCondition); break;
      case 1: RunCondition(text, Role::kFilter); break;
      case 2: RunCondition(text, Role::kKeyCondition); break;
      case 3: RunProjection(text); break;
      case 4: RunUpdate(text, true); break;
      default: RunUpdate(text, false); break;
    }
  };
  stator::fuzz::JudgeCost("expression", size, bound, run, operands);
  return 0;
}
