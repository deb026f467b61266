// Compares the forms in which an item could be stored by the cost of reads:
// docs/adr/0008-item-encoding.md.
//
//   json     the item as DynamoDB JSON, read with simdjson On-Demand where a member is looked up
//   binary   model/value.h, with the code that the server runs
//   offsets  binary, with a table of the attributes' offsets in front, so that a name is found by
//            binary search
//
// Two items of about 1 KB: `few` has four attributes and one long text, `many` has 24 of mixed
// types.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/attribute_json.h"
#include "expr/expr.h"
#include "model/value.h"
#include "simdjson.h"

namespace stator {
namespace {

std::string FewAttributes() {
  return R"({"data":{"S":")" + std::string(993, 'x') +
         R"("},"pk":{"S":"user#00000042"},"tag":{"S":"tag-42"},"v":{"N":"42"}})";
}

std::string ManyAttributes() {
  std::string json = R"({"pk":{"S":"user#00000042"},"v":{"N":"42"})";
  for (int i = 0; i < 14; ++i) {
    json += ",\"attr" + std::to_string(10 + i) + "\":{\"S\":\"" + std::string(56, 'x') + "\"}";
  }
  for (int i = 0; i < 4; ++i)
    json +=
        ",\"count" + std::to_string(i) + "\":{\"N\":\"" + std::to_string(1234567 * (i + 1)) + "\"}";
  json +=
      R"(,"active":{"BOOL":true},"tags":{"SS":["blue","green","red"]},"list":{"L":[{"N":"1"},{"S":"two"}]})";
  json += R"(,"address":{"M":{"city":{"S":"Berlin"},"street":{"S":"Unter den Linden 1"}}})";
  return json + "}";
}

[[noreturn]] void Stop(std::string_view what) {
  std::fprintf(stderr, "item_encoding_bench: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) Stop(result.error().message());
  return std::move(*result);
}

std::string Encode(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  std::string item;
  std::optional<Error> value_error;
  if (parser.parse(json).get(element) != simdjson::SUCCESS ||
      !api::ReadItem(element, &item, &value_error).ok() || value_error) {
    Stop("not an item");
  }
  return item;
}

// One item in all three forms.
struct Forms {
  explicit Forms(const std::string& text) : binary(Encode(text)) {
    std::string canonical;
    api::AppendItemJson(&canonical, view());
    json = simdjson::padded_string(canonical);
    for (const model::MapView::Entry& entry : view().attributes()) {
      names.push_back(entry.name);
      offsets.push_back(static_cast<uint16_t>(entry.value.encoded().data() - binary.data()));
    }
  }
  model::ItemView view() const { return model::ItemView(binary); }
  model::ValueView FindByOffset(std::string_view name) const {
    const auto found = std::lower_bound(names.begin(), names.end(), name);
    if (found == names.end() || *found != name) return model::ValueView();
    return model::ValueView(binary.data() + offsets[static_cast<size_t>(found - names.begin())]);
  }

  simdjson::padded_string json;
  std::string binary;
  std::vector<std::string_view>
      names;  // kinder to this form than reading them from the item at every step
  std::vector<uint16_t> offsets;
};

const Forms& ItemOf(const benchmark::State& state) {
  static const Forms few(FewAttributes());
  static const Forms many(ManyAttributes());
  return state.range(0) == 0 ? few : many;
}

void Label(benchmark::State& state) { state.SetLabel(state.range(0) == 0 ? "few" : "many"); }

// Returns the value of a top-level number attribute, compared as the filter `v >= :n` compares it.
bool AtLeast(std::string_view digits, const model::Number& bound) {
  const Result<model::Number> number = model::Number::Parse(digits);
  return number.ok() && *number >= bound;
}

// --- The whole item as a reply ---

void RenderJson(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  std::string out;
  for (auto _ : state) {
    out.clear();
    out.append(item.json.data(), item.json.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  Label(state);
}
BENCHMARK(RenderJson)->Arg(0)->Arg(1);

void RenderBinary(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  std::string out;
  for (auto _ : state) {
    out.clear();
    api::AppendItemJson(&out, item.view());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  Label(state);
}
BENCHMARK(RenderBinary)->Arg(0)->Arg(1);

// --- A filter on one attribute, the last by name ---

void FilterJson(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  simdjson::ondemand::parser parser;
  const model::Number bound = model::Number::FromInt(40);
  for (auto _ : state) {
    simdjson::ondemand::document document;
    std::string_view digits;
    if (parser.iterate(item.json).get(document) != simdjson::SUCCESS ||
        document["v"]["N"].get_string().get(digits) != simdjson::SUCCESS) {
      return state.SkipWithError("not found");
    }
    bool holds = AtLeast(digits, bound);
    benchmark::DoNotOptimize(holds);
  }
  Label(state);
}
BENCHMARK(FilterJson)->Arg(0)->Arg(1);

void FilterBinary(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  expr::Substitutions substitutions;
  std::string bound;
  model::AppendNumber(&bound, model::Number::FromInt(40));
  if (!substitutions.SetValues({{":n", bound}}).ok()) Stop("substitutions");
  const expr::Condition filter =
      Must(expr::ParseCondition("v >= :n", expr::Role::kFilter, &substitutions));
  for (auto _ : state) {
    bool holds = expr::Evaluate(filter, item.view());
    if (!holds) return state.SkipWithError("does not hold");
    benchmark::DoNotOptimize(holds);
  }
  Label(state);
}
BENCHMARK(FilterBinary)->Arg(0)->Arg(1);

// --- Only finding the attribute: what a table of offsets could save ---

void FindBinary(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  for (auto _ : state) {
    model::ValueView value = item.view().Find("v");
    benchmark::DoNotOptimize(value);
  }
  Label(state);
}
BENCHMARK(FindBinary)->Arg(0)->Arg(1);

void FindOffsets(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  for (auto _ : state) {
    model::ValueView value = item.FindByOffset("v");
    benchmark::DoNotOptimize(value);
  }
  Label(state);
}
BENCHMARK(FindOffsets)->Arg(0)->Arg(1);

// --- A projection of two attributes, rendered ---

void ProjectJson(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  simdjson::ondemand::parser parser;
  std::string out;
  for (auto _ : state) {
    out.assign("{");
    simdjson::ondemand::document document;
    if (parser.iterate(item.json).get(document) != simdjson::SUCCESS)
      return state.SkipWithError("no JSON");
    for (const std::string_view name :
         {"pk", "v"}) {  // in the order of the text: On-Demand need not start again
      simdjson::ondemand::value value;
      std::string_view raw;
      if (document[name].get(value) != simdjson::SUCCESS ||
          simdjson::to_json_string(value).get(raw) != simdjson::SUCCESS) {
        return state.SkipWithError("not found");
      }
      if (out.size() > 1) out.push_back(',');
      out.append("\"").append(name).append("\":").append(raw);
    }
    out.push_back('}');
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  Label(state);
}
BENCHMARK(ProjectJson)->Arg(0)->Arg(1);

void ProjectBinary(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  expr::Substitutions substitutions;
  const expr::Projection projection = Must(expr::ParseProjection("pk, v", &substitutions));
  std::string out;
  for (auto _ : state) {
    out.clear();
    const std::string projected = expr::Project(projection, item.view());
    api::AppendItemJson(&out, model::ItemView(projected));
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  Label(state);
}
BENCHMARK(ProjectBinary)->Arg(0)->Arg(1);

// --- How long each form is ---

void Bytes(benchmark::State& state) {
  const Forms& item = ItemOf(state);
  for (auto _ : state) benchmark::DoNotOptimize(item.binary.data());
  state.counters["json"] = static_cast<double>(item.json.size());
  state.counters["binary"] = static_cast<double>(item.binary.size());
  state.counters["offsets"] = static_cast<double>(item.binary.size() + 2 * item.offsets.size());
  state.counters["item_size"] = static_cast<double>(item.view().size_bytes());
  Label(state);
}
BENCHMARK(Bytes)->Arg(0)->Arg(1);

}  // namespace
}  // namespace stator
