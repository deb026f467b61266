#include "server/seed_data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "api/attribute_json.h"
#include "api/decode.h"
#include "base/pump.h"
#include "ops/operations.h"
#include "simdjson.h"
#include "table/store.h"

namespace stator::server {
namespace {

namespace fs = std::filesystem;

constexpr int kWritesInFlight = 256;

Error At(const std::string& where, const std::string& what) {
  return ValidationError("--init: " + where + ": " + what);
}

// Runs one operation to its end.
template <typename Response, typename Request>
Result<Response> Call(ops::Environment& environment, Pump& pump,
                      void (*handler)(ops::Context&, Request, ops::Callback<Response>),
                      Request request) {
  std::optional<Result<Response>> answer;
  ops::Context context{environment, pump};
  handler(context, std::move(request),
          [&answer](Result<Response> response) { answer.emplace(std::move(response)); });
  pump.RunUntil([&answer] { return answer.has_value(); });
  return std::move(*answer);
}

Result<std::string> LoadTable(ops::Environment& environment, Pump& pump, const fs::path& file,
                              bool* created) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  if (const simdjson::error_code error = parser.load(file.string()).get(json);
      error != simdjson::SUCCESS) {
    return At(file.string(),
              error == simdjson::IO_ERROR ? "this cannot be read" : "this is not JSON");
  }
  Result<ops::CreateTableRequest> request = api::Decode<ops::CreateTableRequest>(json);
  if (!request.ok()) return At(file.string(), request.error().message());
  const std::string name = request->table_name;
  *created = environment.store.Find(name) == nullptr;
  if (!*created) return name;
  const Result<ops::CreateTableResponse> answer =
      Call(environment, pump, ops::CreateTable, std::move(*request));
  if (!answer.ok()) return At(file.string(), answer.error().message());
  return name;
}

Result<ops::PutItemRequest> ReadLine(simdjson::dom::parser& parser, const std::string& table,
                                     const std::string& line) {
  simdjson::dom::element json;
  if (parser.parse(line).get(json) != simdjson::SUCCESS) return ValidationError("this is not JSON");
  simdjson::dom::element item;
  if (json["Item"].get(item) != simdjson::SUCCESS) return ValidationError("there is no \"Item\"");
  ops::PutItemRequest put;
  put.table_name = table;
  std::optional<Error> value_error;
  TRY(api::ReadItem(item, &put.item.bytes, &value_error));
  if (value_error) return std::move(*value_error);
  return put;
}

Result<int64_t> LoadItems(ops::Environment& environment, Pump& pump, const fs::path& file,
                          const std::string& table) {
  std::ifstream in(file);
  if (!in) return At(file.string(), "this cannot be read");
  simdjson::dom::parser parser;
  ops::Context context{environment, pump};
  std::optional<Error> failure;
  int64_t line_number = 0;
  int64_t items = 0;
  int in_flight = 0;
  for (std::string line; !failure && std::getline(in, line);) {
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = file.string() + ":" + std::to_string(line_number);
    Result<ops::PutItemRequest> put = ReadLine(parser, table, line);
    if (!put.ok()) {
      failure = At(where, put.error().message());
      break;
    }
    pump.RunUntil([&] { return in_flight < kWritesInFlight; });
    ++in_flight;
    ++items;
    ops::PutItem(context, std::move(*put),
                 [&failure, &in_flight, where](Result<ops::PutItemResponse> answer) {
                   --in_flight;
                   if (!answer.ok() && !failure) failure = At(where, answer.error().message());
                 });
  }
  pump.RunUntil([&] { return in_flight == 0; });
  if (failure) return std::move(*failure);
  return items;
}

}  // namespace

namespace {

// Takes back a table whose items could not all be loaded, so that the next start loads it whole.
void DropTable(ops::Environment& environment, Pump& pump, const std::string& name) {
  bool answered = false;
  environment.store.Drop(
      name, [](const table::TableDescriptor&) { return OkStatus(); },
      [&](Result<table::TablePtr>) { pump.Post([&answered] { answered = true; }); });
  pump.RunUntil([&answered] { return answered; });
}

}  // namespace

Result<Seeded> LoadSeedData(ops::Environment& shared, const std::string& directory) {
  // Tables that are loaded become ACTIVE at once, without the delay of CREATING.
  ops::Settings settings = shared.settings;
  settings.delay_transient_statuses = false;
  ops::Environment environment{shared.store, shared.clock, shared.random, shared.workers, settings};
  constexpr std::string_view kTableSuffix = ".table.json", kItemsSuffix = ".items.jsonl";
  Pump pump;
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string path = entry.path().string();
    if (path.ends_with(kTableSuffix)) files.push_back(entry.path());
    if (!path.ends_with(kItemsSuffix)) continue;
    const std::string table =
        path.substr(0, path.size() - kItemsSuffix.size()).append(kTableSuffix);
    if (!fs::exists(table))
      return At(path, "there is no " + fs::path(table).filename().string() + " beside it");
  }
  if (error) return At(directory, error.message());
  std::sort(files.begin(), files.end());
  Seeded seeded;
  for (const fs::path& file : files) {
    bool created = false;
    ASSIGN_OR_RETURN(const std::string table, LoadTable(environment, pump, file, &created));
    if (!created) continue;
    ++seeded.tables;
    std::string items = file.string();
    items.replace(items.size() - kTableSuffix.size(), kTableSuffix.size(), kItemsSuffix);
    if (!fs::exists(items)) continue;
    Result<int64_t> count = LoadItems(environment, pump, items, table);
    if (!count.ok()) {
      DropTable(environment, pump, table);
      return std::move(count).error();
    }
    seeded.items += *count;
  }
  return seeded;
}

}  // namespace stator::server
