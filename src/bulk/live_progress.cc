#include "bulk/live_progress.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "api/attribute_json.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/printable.h"
#include "bulk/format.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

constexpr int64_t kBetweenSaves = 1'000'000;

// Returns {"pk":{"S":"a"}} of an item or a key.
std::string KeyOf(const model::KeySchema& schema, const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  std::string item;
  std::optional<Error> wrong;
  if (parser.parse(json).get(element) != simdjson::SUCCESS ||
      !api::ReadItem(element, &item, &wrong).ok() || wrong)
    return "{}";
  const model::ItemView view(item);
  const bool has = !view.Find(schema.partition.name).empty() &&
                   (!schema.sort || !view.Find(schema.sort->name).empty());
  return has ? KeyText(schema, view) : "{}";
}

}  // namespace

LiveProgress::LiveProgress(const std::string& path, std::string seal_key, const Clock& clock)
    : path_(path + ".live-progress"),
      errors_path_(path + ".live-errors"),
      seal_key_(std::move(seal_key)),
      clock_(clock) {}

Result<std::unique_ptr<LiveProgress>> LiveProgress::Open(const std::string& path,
                                                         std::string seal_key, const Clock& clock) {
  std::unique_ptr<LiveProgress> progress(new LiveProgress(path, std::move(seal_key), clock));
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadSmallFile(progress->path_));
  const MutexLock lock(progress->mutex_);
  if (text) {
    Result<LiveState> state = DecodeLive(*text, progress->seal_key_);
    if (!state.ok())
      return CorruptionError(fmt::format("{}: {}", progress->path_, state.error().message()));
    progress->state_ = *std::move(state);
    progress->resumed_ = true;
  }
  // The log is open as long as the command runs: it is the lock against a second one.
  ASSIGN_OR_RETURN(progress->errors_,
                   AppendedFile::Open(progress->errors_path_, progress->state_.error_bytes));
  progress->saved_ticks_ = clock.TicksMicros();
  return progress;
}

LiveProgress::~LiveProgress() {
  const MutexLock lock(mutex_);
  if (errors_ == nullptr || state_.errors > 0) return;
  const Status removed = RemoveFile(errors_path_);
  if (!removed.ok()) LogWarn("log_not_removed", {{"error", removed.error().message()}});
}

LiveState LiveProgress::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

Status LiveProgress::SaveLocked() {
  saved_ticks_ = clock_.TicksMicros();
  return ReplaceFile(path_, EncodeLive(state_, seal_key_));
}

Status LiveProgress::Update(bool now, FunctionRef<void(LiveState*)> change) {
  const MutexLock lock(mutex_);
  change(&state_);
  if (!now && clock_.TicksMicros() - saved_ticks_ < kBetweenSaves) return OkStatus();
  return SaveLocked();
}

Status LiveProgress::Refused(const model::KeySchema& key, const Change& change,
                             const std::string& message) {
  const std::string name = KeyOf(key, change.json);
  JsonWriter messages;
  messages.Open('[').Text(Printable(message)).Close(']');
  std::string list = messages.Take();
  list.pop_back();  // the line feed
  const MutexLock lock(mutex_);
  TRY(errors_->Append(fmt::format("{{\"key\":{},\"errorMessages\":{}}}\n", name, list)));
  if (first_error_.empty()) first_error_ = fmt::format("{}: {}", name, message);
  ++state_.errors;
  state_.error_bytes = errors_->bytes();
  return OkStatus();
}

std::string LiveProgress::first_error() const {
  const MutexLock lock(mutex_);
  return first_error_;
}

Status LiveProgress::Remove() {
  const MutexLock lock(mutex_);
  return RemoveFile(path_);
}

}  // namespace stator::bulk
