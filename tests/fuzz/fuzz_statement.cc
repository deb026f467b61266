// libFuzzer: arbitrary text as a PartiQL statement, run against an item.
//
// Checked are: nothing crashes or overflows the stack, an error is a validation error, a parsed
// statement gives the same answer twice, every item that comes out follows the grammar of items,
// and the cost is linear in the text.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cost.h"
#include "expr/statement.h"
#include "expr/test_notation.h"

namespace stator::expr {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

const std::vector<std::string>& Parameters() {
  static const std::vector<std::string> parameters = [] {
    std::vector<std::string> out;
    for (const char* value :
         {"'x'", "1", "x'ab'", "['x', 1]", "{a: 'x'}", "<'a', 'b'>", "<1, 2>", "null"}) {
      out.push_back(notation::Value(value));
    }
    return out;
  }();
  return parameters;
}

const std::string& Item() {
  static const std::string item = notation::Item(
      "{pk: 'k', a: 1, b: 'text', l: [0, 'x', [1, 2], {x: 1}], m: {a: 'x', l: [1], m: {a: 5}}, s: "
      "<'a', 'c'>, n: <1, 3>,"
      " z: null, o: true, bin: x'abc'}");
  return item;
}

void Run(std::string_view text) {
  const Result<Statement> statement = ParseStatement(text, Parameters());
  if (!statement.ok()) {
    Require(statement.error().code() == ErrorCode::kValidation &&
            !statement.error().message().empty());
    return;
  }
  const model::ItemView item(Item());
  Require(Evaluate(statement->condition, item) == Evaluate(statement->condition, item));
  Evaluate(statement->condition, model::ItemView());
  const Demands demands = DemandsOf(statement->condition);
  for (const Demand& demand : demands.all)
    Require(!demand.attribute.empty() && !demand.value.empty());
  ComparisonsOf(statement->condition);
  Require(model::CheckItem(Project(statement->projection, item)).ok());
  if (statement->kind == StatementKind::kInsert) Require(model::CheckItem(statement->item).ok());
  if (statement->kind != StatementKind::kUpdate) return;
  const Result<Updated> updated = ApplyUpdate(statement->update, item, item);
  if (!updated.ok()) {
    Require(updated.error().code() == ErrorCode::kValidation);
    return;
  }
  Require(model::CheckItem(updated->item).ok());
  const std::string fragments = UpdatedFragments(statement->update, model::ItemView(updated->item));
  Require(fragments.empty() || model::CheckItem(fragments).ok());
}

}  // namespace
}  // namespace stator::expr

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Text from JSON has no other bytes: statements are valid UTF-8, and their length is checked
  // before.
  for (size_t i = 0; i < size; ++i) {
    if (data[i] >= 0x80) return 0;
  }
  const stator::fuzz::CostBound bound{
      .nanos_per_byte = 20'000, .nanos = 20'000'000, .bytes_per_byte = 20'000, .bytes = 4 << 20};
  stator::fuzz::JudgeCost(
      "statement", size, bound,
      [&] {
        stator::expr::Run({reinterpret_cast<const char*>(data), size});
      },
      size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return stator::fuzz::MutateOrStretch(data, size, max_size, seed);
}
