#include "bulk/import_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/json_writer.h"
#include "base/printable.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

constexpr int64_t kBetweenSaves = 1'000'000;
constexpr size_t kMostUnsavedErrors = 1 << 20;

}  // namespace

FileProgress::FileProgress(std::string path, std::string state_path, Identity identity,
                           const Clock& clock)
    : path_(std::move(path)),
      state_path_(state_path + ".import-progress"),
      errors_path_(state_path + ".errors"),
      identity_(std::move(identity)),
      clock_(clock) {}

Result<std::unique_ptr<FileProgress>> FileProgress::Open(const std::string& path,
                                                         const std::string& state_path,
                                                         Identity identity, const Clock& clock) {
  std::unique_ptr<FileProgress> progress(
      new FileProgress(path, state_path, std::move(identity), clock));
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadSmallFile(progress->state_path_));
  const MutexLock lock(progress->mutex_);
  if (text) TRY(progress->Decode(*text));
  progress->saved_ticks_ = clock.TicksMicros();
  if (!text) TRY(ReplaceFile(progress->state_path_, progress->Encode()));
  return progress;
}

std::string FileProgress::Encode() const {
  JsonWriter json;
  json.Open('{').Field("stator", "import").Key("version").Whole(1);
  json.Field("table", identity_.table).Field("table_id", identity_.table_id);
  json.Field("mask", identity_.mask);
  json.Key("file_bytes").Whole(static_cast<int64_t>(identity_.file_bytes));
  json.Key("file_changed_micros").Whole(identity_.file_changed_micros);
  json.Key("items").Whole(durable_).Key("errors").Whole(errors_);
  json.Key("error_bytes").Whole(static_cast<int64_t>(errors_bytes_));
  json.Key("finished").Bool(finished_).Close('}');
  return json.Take();
}

Status FileProgress::Decode(const std::string& text) {
  simdjson::dom::parser parser;
  Element json;
  std::string_view kind, table, table_id, mask;
  int64_t version = 0, file_bytes = 0, changed = 0;
  const auto fails = [](simdjson::error_code code) { return code != simdjson::SUCCESS; };
  if (fails(parser.parse(text).get(json)) || fails(json["stator"].get(kind)) || kind != "import" ||
      fails(json["version"].get(version)) || fails(json["table"].get(table)) ||
      fails(json["table_id"].get(table_id)) || fails(json["mask"].get(mask)) ||
      fails(json["file_bytes"].get(file_bytes)) ||
      fails(json["file_changed_micros"].get(changed)) || fails(json["items"].get(durable_)) ||
      fails(json["errors"].get(errors_)) || fails(json["error_bytes"].get(errors_bytes_)) ||
      fails(json["finished"].get(finished_)))
    return CorruptionError(state_path_ + ": is no progress file of an import. Remove it");
  if (version != 1)
    return CorruptionError(state_path_ + ": a newer version of Stator has written it");
  std::string differs;
  if (table != identity_.table) {
    differs = fmt::format("into the table {}", table);
  } else if (table_id != identity_.table_id) {
    differs = "into another table of this name";
  } else if (mask != identity_.mask) {
    differs = "with other masks";
  } else if (file_bytes != static_cast<int64_t>(identity_.file_bytes) ||
             changed != identity_.file_changed_micros) {
    differs = "of the file before it was changed";
  }
  if (differs.empty()) return OkStatus();
  return ValidationError(fmt::format(
      "{}: an import {} is not finished. Remove this file to begin again", state_path_, differs));
}

int64_t FileProgress::durable() const {
  const MutexLock lock(mutex_);
  return durable_;
}

bool FileProgress::finished() const {
  const MutexLock lock(mutex_);
  return finished_;
}

int64_t FileProgress::errors() const {
  const MutexLock lock(mutex_);
  return errors_;
}

Status FileProgress::Done(int64_t first, int64_t end, std::vector<Refused> refused) {
  const MutexLock lock(mutex_);
  std::sort(refused.begin(), refused.end(),
            [](const Refused& a, const Refused& b) { return a.index < b.index; });
  ranges_.emplace(first, Range{end, std::move(refused)});
  while (!ranges_.empty() && ranges_.begin()->first == durable_) {
    const Range& range = ranges_.begin()->second;
    for (const Refused& each : range.refused) {
      JsonWriter line;
      line.Open('{').Field("file", path_).Key("itemIndex").Whole(each.index);
      line.Key("errorMessages").Open('[').Text(Printable(each.message)).Close(']').Close('}');
      unsaved_errors_ += line.Take();
      ++errors_;
    }
    durable_ = range.end;
    ranges_.erase(ranges_.begin());
  }
  if (clock_.TicksMicros() - saved_ticks_ < kBetweenSaves &&
      unsaved_errors_.size() < kMostUnsavedErrors)
    return OkStatus();
  return SaveLocked(false);
}

Status FileProgress::Save(bool whole) {
  const MutexLock lock(mutex_);
  return SaveLocked(whole);
}

Status FileProgress::SaveLocked(bool whole) {
  if (!unsaved_errors_.empty()) {
    // Opened for each piece: an export may have more files than a process may open. It is cut to
    // what is counted; all of it is of an earlier import if nothing is.
    ASSIGN_OR_RETURN(const std::unique_ptr<AppendedFile> log,
                     AppendedFile::Open(errors_path_, errors_bytes_));
    TRY(log->Append(unsaved_errors_));
    unsaved_errors_.clear();
    errors_bytes_ = log->bytes();
  }
  if (whole) finished_ = true;
  saved_ticks_ = clock_.TicksMicros();
  return ReplaceFile(state_path_, Encode());
}

Status FileProgress::Remove() {
  const MutexLock lock(mutex_);
  if (errors_ == 0) TRY(RemoveFile(errors_path_));
  return RemoveFile(state_path_);
}

}  // namespace stator::bulk
