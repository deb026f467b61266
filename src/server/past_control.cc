#include "server/past_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "api/attribute_json.h"
#include "base/base64.h"
#include "base/json_writer.h"
#include "base/pump.h"
#include "base/time_text.h"
#include "guard/requests.h"
#include "ops/answer_bytes.h"
#include "ops/as_of.h"
#include "ops/backup_arn.h"
#include "ops/checks.h"
#include "ops/continuous_backups.h"
#include "server/report_json.h"
#include "simdjson.h"
#include "table/key_encoding.h"
#include "transfer/backups.h"
#include "transfer/difference.h"

namespace stator::server {
namespace {

using MomentPtr = std::shared_ptr<const table::LoggedMoment>;

constexpr int64_t kMostOnPage = 1000;
constexpr int64_t kUsualOnPage = 100;

struct PastRequest {
  std::optional<std::string> key;  // an encoded item
  std::string at;
  std::string from;
  std::string to;
  std::string start;
  int64_t limit = kUsualOnPage;
  bool apply = false;
  std::function<bool()> has_left = nullptr;
};

// The members that a call knows, by their first letters: at, from, to, key, start, limit, apply.
struct Shape {
  std::string_view call;
  std::string_view members;
};
constexpr Shape kShapes[] = {
    {"at", "at key start limit"},
    {"difference", "from to start limit"},
    {"history", "key from to start limit"},
    {"undo", "from to start limit apply"},
    {"forget", "key"},
};

bool Knows(std::string_view call, std::string_view member) {
  for (const Shape& shape : kShapes) {
    if (shape.call != call) continue;
    const std::string padded = fmt::format(" {} ", shape.members);
    return padded.find(fmt::format(" {} ", member)) != std::string::npos;
  }
  return false;
}

// A moment may be a number of seconds or milliseconds.
Result<std::string> MomentText(std::string_view name, simdjson::dom::element json) {
  std::string_view text;
  int64_t whole = 0;
  if (json.get(text) == simdjson::SUCCESS) return std::string(text);
  if (json.get(whole) == simdjson::SUCCESS) return std::to_string(whole);
  return ValidationError(
      fmt::format(R"("{}" must be a text such as "2026-11-26T22:00:00.123Z")", name));
}

Result<std::string> KeyOf(simdjson::dom::element json) {
  if (!json.is_object()) return ValidationError(R"("key" must be {"NAME":{"S":"value"}})");
  std::string encoded;
  std::optional<Error> value_error;
  if (Status read = api::ReadItem(json, &encoded, &value_error); !read.ok())
    return ValidationError(R"("key" must be {"NAME":{"S":"value"}}: )" + read.error().message());
  if (value_error) return ValidationError(value_error->message());
  return encoded;
}

Result<PastRequest> Parse(std::string_view call, std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(body.data(), body.size()).get(object) != simdjson::SUCCESS)
    return ValidationError("The body must be a JSON object");
  PastRequest request;
  for (const auto& [name, json] : object) {
    if (!Knows(call, name))
      return ValidationError(fmt::format("There is no member \"{}\" of {}", name, call));
    if (name == "key") {
      ASSIGN_OR_RETURN(request.key, KeyOf(json));
    } else if (name == "at" || name == "from" || name == "to") {
      std::string& moment = name == "at" ? request.at : name == "from" ? request.from : request.to;
      ASSIGN_OR_RETURN(moment, MomentText(name, json));
    } else if (name == "start") {
      std::string_view text;
      if (json.get(text) != simdjson::SUCCESS)
        return ValidationError(R"("start" must be the "next" of the page before)");
      request.start = text;
    } else if (name == "limit") {
      if (json.get(request.limit) != simdjson::SUCCESS || request.limit < 1 ||
          request.limit > kMostOnPage)
        return ValidationError(fmt::format("\"limit\" must be from 1 to {}", kMostOnPage));
    } else if (json.get(request.apply) != simdjson::SUCCESS) {
      return ValidationError(R"("apply" must be true or false)");
    }
  }
  return request;
}

Result<int64_t> MillisOf(std::string_view name, const std::string& text, int64_t absent) {
  if (text.empty()) return absent;
  return ops::ParseMoment(fmt::format("\"{}\"", name), text);
}

Result<MomentPtr> Open(ops::Environment& env, const table::TablePtr& table, std::string_view name,
                       int64_t millis) {
  Pump pump;
  std::optional<Result<MomentPtr>> opened;
  ops::OpenMoment(
      env, table, fmt::format("\"{}\"", name), millis, [&pump, &opened](Result<MomentPtr> moment) {
        pump.Post(
            [&opened, moment = std::move(moment)]() mutable { opened.emplace(std::move(moment)); });
      });
  pump.RunUntil([&opened] { return opened.has_value(); });
  return *std::move(opened);
}

// The two ends of a call.
struct Window {
  int64_t from_millis = 0;
  int64_t to_millis = 0;
  MomentPtr from;
  MomentPtr to;
};

Result<Window> OpenWindow(ops::Environment& env, const table::TablePtr& table,
                          const PastRequest& request, bool from_needed) {
  ops::RestorableWindow restorable;
  // An error below says it if there is none.
  if (const auto& log = table->descriptor.change_log) restorable = ops::WindowOf(env, *log);
  if (from_needed && request.from.empty())
    return ValidationError(R"("from" is missing: a moment such as "2026-11-26T22:00:00Z")");
  Window window;
  const int64_t earliest = restorable.earliest_micros / 1000;
  // Not the latest millisecond, which may have changes still.
  const int64_t latest = std::max(earliest, restorable.latest_micros / 1000 - 1);
  ASSIGN_OR_RETURN(window.from_millis, MillisOf("from", request.from, earliest));
  ASSIGN_OR_RETURN(window.to_millis, MillisOf("to", request.to, latest));
  if (window.from_millis > window.to_millis) {
    return ValidationError(fmt::format("\"from\" ({}) is after \"to\" ({})",
                                       FormatTime(window.from_millis * 1000),
                                       FormatTime(window.to_millis * 1000)));
  }
  ASSIGN_OR_RETURN(window.to, Open(env, table, "to", window.to_millis));
  ASSIGN_OR_RETURN(window.from, Open(env, table, "from", window.from_millis));
  return window;
}

std::string ItemJson(std::string_view item) {
  if (item.empty()) return "null";
  std::string out;
  api::AppendItemJson(&out, model::ItemView(item));
  return out;
}

Result<std::string> KeyJson(const table::Table& table, std::string_view key) {
  ASSIGN_OR_RETURN(const std::string attributes, table::DecodeItemKey(table.key_schema(), key));
  return ItemJson(attributes);
}

// Positions are keys, in base64.
std::string PositionText(std::string_view key) {
  std::string out(Base64Length(key.size()), '\0');
  EncodeBase64(key, out.data());
  return Quoted(out);
}
Result<std::string> PositionIn(const std::string& text) {
  std::string key;
  if (text.empty()) return key;
  if (!DecodeBase64(text, &key).ok() || key.empty() || key[0] != table::kItemKind)
    return ValidationError(R"("start" must be the "next" of the page before)");
  return key;
}

Result<std::string> ItemKeyIn(const table::Table& table, const PastRequest& request) {
  if (!request.key) return ValidationError(R"("key" is missing: {"NAME":{"S":"value"}})");
  const model::ItemView key(*request.key);
  TRY(ops::CheckKey(table.key_schema(), key));
  return table::EncodeItemKey(table.key_schema(), key);
}

transfer::PageLimits LimitsOf(const PastRequest& request) {
  transfer::PageLimits limits;
  limits.changes = static_cast<size_t>(request.limit);
  limits.size_of_image = ops::RenderedBound;
  limits.is_left = request.has_left;
  return limits;
}

Result<std::string> At(ops::Environment& env, const table::TablePtr& table,
                       const PastRequest& request) {
  if (request.at.empty())
    return ValidationError(R"("at" is missing: a moment such as "2026-11-26T22:00:00Z")");
  ASSIGN_OR_RETURN(const int64_t millis, MillisOf("at", request.at, 0));
  ASSIGN_OR_RETURN(const MomentPtr moment, Open(env, table, "at", millis));
  std::string out = fmt::format(R"({{"table":{},"at":{})", Quoted(table->descriptor.name),
                                Quoted(FormatTime(millis * 1000)));
  if (request.key) {
    ASSIGN_OR_RETURN(const std::string key, ItemKeyIn(*table, request));
    ASSIGN_OR_RETURN(const std::string item, moment->ItemAt(key));
    return out + R"(,"item":)" + ItemJson(item) + "}\n";
  }
  ASSIGN_OR_RETURN(std::string begin, PositionIn(request.start));
  if (begin.empty()) begin = table::FirstKeyOfHash(0);
  const std::string end = table::EndOfItemKeys();
  const transfer::PageLimits limits = LimitsOf(request);
  std::string items, next;
  size_t count = 0;
  bool is_left = false;
  kv::Range range{table->descriptor.tablet(), begin, end};
  TRY(moment->Scan(env.store.engine(), range, kv::Tier::kAny,
                   [&](std::string_view key, model::ItemView item) {
                     is_left = limits.IsLeft();
                     if (is_left) return false;
                     if (count >= limits.changes || items.size() >= limits.image_bytes) {
                       next = PositionText(key);
                       return false;
                     }
                     if (item.exists()) {
                       if (count++ > 0) items.push_back(',');
                       api::AppendItemJson(&items, item);
                     }
                     if (moment->read_bytes() < limits.read_bytes) return true;
                     next = PositionText(std::string(key) + '\0');
                     return false;
                   }));
  if (is_left) return transfer::PageIsLeft();
  return out + fmt::format(R"(,"items":[{}],"next":{}}})", items, next.empty() ? "null" : next) +
         "\n";
}

std::string Head(const table::Table& table, const Window& window) {
  return fmt::format(R"({{"table":{},"from":{},"to":{})", Quoted(table.descriptor.name),
                     Quoted(FormatTime(window.from_millis * 1000)),
                     Quoted(FormatTime(window.to_millis * 1000)));
}

Result<std::string> ChangesJson(const table::Table& table,
                                const std::vector<transfer::ItemChange>& changes, bool with_key) {
  std::string out;
  for (const transfer::ItemChange& change : changes) {
    out += out.empty() ? "{" : ",{";
    if (with_key) {
      ASSIGN_OR_RETURN(const std::string key, KeyJson(table, change.key));
      out += R"("key":)" + key + ",";
    }
    out += fmt::format(R"("time":{},"before":{},"after":{}}})", Quoted(FormatTime(change.micros)),
                       ItemJson(change.before), ItemJson(change.after));
  }
  return out;
}

Result<std::string> Difference(ops::Environment& env, const table::TablePtr& table,
                               const PastRequest& request) {
  ASSIGN_OR_RETURN(const std::string begin, PositionIn(request.start));
  ASSIGN_OR_RETURN(const Window window, OpenWindow(env, table, request, true));
  ASSIGN_OR_RETURN(const transfer::DifferencePage page,
                   transfer::ReadDifference(env.store, *table, *window.from, *window.to, begin,
                                            LimitsOf(request)));
  ASSIGN_OR_RETURN(const std::string changes, ChangesJson(*table, page.changes, true));
  return Head(*table, window) +
         fmt::format(R"(,"changes":[{}],"next":{}}})", changes,
                     page.next ? PositionText(*page.next) : "null") +
         "\n";
}

Result<std::string> HistoryOf(ops::Environment& env, const table::TablePtr& table,
                              const PastRequest& request) {
  ASSIGN_OR_RETURN(const std::string key, ItemKeyIn(*table, request));
  ASSIGN_OR_RETURN(const Window window, OpenWindow(env, table, request, false));
  ASSIGN_OR_RETURN(const transfer::DifferencePage page,
                   transfer::ReadVersions(env.store, *table, key, *window.from, *window.to,
                                          request.start, LimitsOf(request)));
  ASSIGN_OR_RETURN(const std::string key_json, KeyJson(*table, key));
  ASSIGN_OR_RETURN(const std::string changes, ChangesJson(*table, page.changes, false));
  return Head(*table, window) +
         fmt::format(R"(,"key":{},"changes":[{}],"next":{}}})", key_json, changes,
                     page.next ? Quoted(*page.next) : "null") +
         "\n";
}

std::string_view NameOf(transfer::Undone::Outcome outcome) {
  using Outcome = transfer::Undone::Outcome;
  switch (outcome) {
    case Outcome::kPut: return "put";
    case Outcome::kDelete: return "delete";
    case Outcome::kAlready: return "already";
    case Outcome::kConflict: return "conflict";
    case Outcome::kFailed: return "failed";
  }
  return "failed";
}

Result<std::string> Undo(ops::Environment& env, const table::TablePtr& table,
                         const PastRequest& request) {
  if (request.to.empty())
    return ValidationError(R"("to" is missing: an undo names both ends of its range of time)");
  ASSIGN_OR_RETURN(const std::string begin, PositionIn(request.start));
  ASSIGN_OR_RETURN(const Window window, OpenWindow(env, table, request, true));
  ASSIGN_OR_RETURN(const transfer::UndoPage page,
                   transfer::UndoChanges(env.store, table, *window.from, *window.to, begin,
                                         LimitsOf(request), request.apply));
  std::string items;
  for (const transfer::Undone& item : page.items) {
    ASSIGN_OR_RETURN(const std::string key, KeyJson(*table, item.key));
    items += fmt::format(R"({}{{"key":{},"outcome":"{}")", items.empty() ? "" : ",", key,
                         NameOf(item.outcome));
    if (!item.error.empty()) items += R"(,"error":)" + Quoted(item.error);
    items.push_back('}');
  }
  return Head(*table, window) +
         fmt::format(R"(,"applied":{},"items":[{}],"next":{}}})", request.apply, items,
                     page.next ? PositionText(*page.next) : "null") +
         "\n";
}

Result<std::string> Forget(ops::Environment& env, const table::TablePtr& table,
                           const PastRequest& request) {
  ASSIGN_OR_RETURN(const std::string key, ItemKeyIn(*table, request));
  if (!table->descriptor.change_log) {
    return ValidationError("Point in time recovery is not enabled for table '" +
                           table->descriptor.name + "'");
  }
  ASSIGN_OR_RETURN(const int64_t records, transfer::ForgetItem(env.store, table, key));
  std::string backups;
  if (env.backups != nullptr) {
    for (const transfer::BackupPtr& backup : env.backups->List()) {
      if (backup->manifest.table.table_id != table->descriptor.table_id) continue;
      backups += (backups.empty() ? "" : ",") +
                 Quoted(ops::BackupArnOf(env, table->descriptor.name, backup->manifest.id));
    }
  }
  return fmt::format(R"({{"table":{},"records":{},"backups":[{}]}})",
                     Quoted(table->descriptor.name), records, backups) +
         "\n";
}

}  // namespace

Result<std::string> HandlePast(ops::Environment& environment, std::string_view call,
                               std::string_view table, std::string_view body,
                               const std::function<bool()>& has_left) {
  ASSIGN_OR_RETURN(PastRequest request, Parse(call, body));
  request.has_left = has_left;
  const table::TablePtr found = environment.store.Find(table);
  if (found == nullptr)
    return Error(ErrorCode::kResourceNotFound, fmt::format("There is no table {}", table));
  if (environment.store.shared()) {
    return ValidationError(fmt::format(
        "The past of table '{}' cannot be read: a store on a cluster has no point-in-time recovery",
        table));
  }
  if (call == "at") return At(environment, found, request);
  if (call == "difference") return Difference(environment, found, request);
  if (call == "history") return HistoryOf(environment, found, request);
  if (call == "undo") return Undo(environment, found, request);
  return Forget(environment, found, request);
}

Status RequirePast(guard::Check& check, std::string_view call, std::string_view action,
                   std::string_view table, std::string_view body) {
  const Result<PastRequest> request = Parse(call, body);
  const std::string* const key = request.ok() && request->key ? &*request->key : nullptr;
  const auto require = [&](std::string_view each) {
    return guard::RequireOfItems(check, guard::ActionNamed(each), table, key);
  };
  TRY(require(action));
  // A body that says nothing is refused by the call itself.
  if (!request.ok()) return OkStatus();
  TRY(require(key != nullptr ? "dynamodb:GetItem" : "dynamodb:Scan"));
  if (call == "forget") return require("dynamodb:DeleteItem");
  if (call != "undo" || !request->apply) return OkStatus();
  TRY(guard::RequireOfAllItems(check, guard::ActionNamed("dynamodb:PutItem"), table));
  return guard::RequireOfAllItems(check, guard::ActionNamed("dynamodb:DeleteItem"), table);
}

}  // namespace stator::server
