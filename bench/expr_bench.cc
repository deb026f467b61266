// CPU of ordinary expressions: parsed, evaluated, applied, projected.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "expr/expr.h"

namespace stator::expr {
namespace {

std::string Text(std::string_view text) {
  std::string encoded;
  model::AppendString(&encoded, text);
  return encoded;
}
std::string Number(int64_t number) {
  std::string encoded;
  model::AppendNumber(&encoded, model::Number::FromInt(number));
  return encoded;
}

// An item of 12 attributes and about 400 bytes.
const std::string& Item() {
  static const std::string item = [] {
    std::string entries;
    for (char name = 'a'; name < 'm'; ++name) {
      model::AppendName(&entries, std::string("attribute-") + name);
      entries += name % 2 == 0 ? Number(name) : Text("a text of some thirty characters");
    }
    std::string out;
    model::AppendItem(&out, 12, entries);
    return out;
  }();
  return item;
}

Substitutions Values(std::string_view text) {
  Substitutions subs;
  std::vector<std::pair<std::string, std::string>> names, values;
  for (const char name : {'a', 'b', 'c', 'd'}) {
    if (text.find(std::string("#") + name) != std::string_view::npos)
      names.emplace_back(std::string("#") + name, std::string("attribute-") + name);
  }
  if (text.find(":t") != std::string_view::npos) values.emplace_back(":t", Text("thirty"));
  if (text.find(":n") != std::string_view::npos) values.emplace_back(":n", Number(98));
  if (!names.empty() && !subs.SetNames(std::move(names)).ok()) std::abort();
  if (!values.empty() && !subs.SetValues(std::move(values)).ok()) std::abort();
  return subs;
}

constexpr std::string_view kConditions[] = {"attribute_not_exists(#a)",
                                            "#b = :n AND contains(#a, :t)",
                                            "#b IN (:n, :t) AND size(#a) > :n OR #d < #b"};

void BM_ParseCondition(benchmark::State& state) {
  const std::string_view text = kConditions[state.range(0)];
  for (auto _ : state) {
    Substitutions subs = Values(text);
    benchmark::DoNotOptimize(ParseCondition(text, Role::kCondition, &subs).ok());
  }
}
BENCHMARK(BM_ParseCondition)->DenseRange(0, 2);

void BM_Evaluate(benchmark::State& state) {
  const std::string_view text = kConditions[state.range(0)];
  Substitutions subs = Values(text);
  const Condition condition = ParseCondition(text, Role::kCondition, &subs).value();
  const model::ItemView item(Item());
  for (auto _ : state) benchmark::DoNotOptimize(Evaluate(condition, item));
}
BENCHMARK(BM_Evaluate)->DenseRange(0, 2);

void BM_ApplyUpdate(benchmark::State& state) {
  const std::string_view text = "SET #b = #b + :n, #c = :t REMOVE #d";
  Substitutions subs = Values(text);
  const Update update = ParseUpdate(text, &subs).value();
  const model::ItemView item(Item());
  for (auto _ : state) benchmark::DoNotOptimize(ApplyUpdate(update, item, item).ok());
}
BENCHMARK(BM_ApplyUpdate);

}  // namespace
}  // namespace stator::expr
