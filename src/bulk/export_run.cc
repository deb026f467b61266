#include "bulk/export_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "api/attribute_json.h"
#include "bulk/export_state.h"
#include "bulk/files.h"
#include "bulk/meter.h"
#include "bulk/scan.h"
#include "exchange/gzip_stream.h"

namespace stator::bulk {
namespace {

namespace fs = std::filesystem;

std::string_view ExtensionOf(Format format) {
  return format == Format::kCsv ? "csv.gz" : format == Format::kJsonLines ? "jsonl.gz" : "json.gz";
}

std::string Zipped(const std::string& text) {
  std::string out;
  exchange::GzipWriter writer;
  writer.Add(text, &out);
  writer.Finish(&out);
  return out;
}

// Hands each item of a page over, masked.
Status VisitItems(const Page& page, const std::optional<Mask>& mask,
                  FunctionRef<Status(model::ItemView item)> visit) {
  for (const simdjson::dom::element json : page.items) {
    std::string item;
    std::optional<Error> wrong;
    TRY(api::ReadItem(json, &item, &wrong));
    if (wrong) return *std::move(wrong);
    if (mask) item = mask->Apply(model::ItemView(item));
    TRY(visit(model::ItemView(item)));
  }
  return OkStatus();
}

class Export {
 public:
  Export(const ExportSettings& settings, const Surroundings& around)
      : settings_(settings), around_(around), began_(around.clock.TicksMicros()) {}

  Result<ExportReport> Run() {
    const auto client = MakeClient(settings_.endpoint, around_);
    ASSIGN_OR_RETURN(table_, DescribeTable(*client, settings_.table));
    if (settings_.mask) TRY(settings_.mask->CheckKeys(table_.key));
    TRY(NameFiles());
    TRY(Begin());
    Ticker ticker(around_.clock, around_.quiet, [this] { return Look(); });
    Status scanned = RunTogether(state_.segments.size(), around_.stop,
                                 [this](size_t segment) { return RunSegment(segment); });
    ticker.Stop();
    const bool interrupted = around_.stop.interrupted();
    if (!scanned.ok() && !interrupted) return scanned.error();
    return Report(interrupted);
  }

 private:
  Status NameFiles() {
    std::error_code ignored;
    const bool folder = settings_.to.ends_with('/') || fs::is_directory(settings_.to, ignored);
    if (!folder) {
      files_ = {settings_.to};
      progress_file_ = settings_.to + ".progress";
      return OkStatus();
    }
    std::error_code failed;
    fs::create_directories(settings_.to, failed);
    if (failed) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("{}: cannot make: {}", settings_.to, failed.message()));
    }
    folder_ = true;
    progress_file_ = (fs::path(settings_.to) / (settings_.table + ".progress")).string();
    return OkStatus();
  }

  void NameFilesOfFolder() {
    for (size_t i = 0; folder_ && i < state_.segments.size(); ++i) {
      const std::string name =
          fmt::format("{}-{:02}.{}", settings_.table, i, ExtensionOf(settings_.format));
      files_.push_back((fs::path(settings_.to) / name).string());
    }
  }

  // Reads the state of an earlier run, or makes one; opens the files.
  Status Begin() {
    seal_key_ = settings_.mask ? settings_.mask->SealKey() : std::string();
    ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadSmallFile(progress_file_));
    if (text) {
      Result<ExportState> state = DecodeState(*text, seal_key_);
      if (!state.ok())
        return CorruptionError(fmt::format("{}: {}", progress_file_, state.error().message()));
      state_ = *std::move(state);
      TRY(CheckState());
    } else {
      state_.table = settings_.table;
      state_.table_id = table_.id;
      state_.format = settings_.format;
      state_.mask = settings_.mask ? settings_.mask->fingerprint() : std::string();
      state_.segments.resize(settings_.segments);
      state_.outputs.resize(folder_ ? settings_.segments : 1);
    }
    NameFilesOfFolder();
    if (state_.outputs.size() != files_.size())
      return CorruptionError(progress_file_ + ": is no progress file of this export");
    if (!text) {
      for (const std::string& file : files_) {
        if (!fs::exists(file)) continue;
        return ValidationError(
            fmt::format("{}: is there already, and no {}. Remove it, or name another file", file,
                        progress_file_));
      }
      TRY(FindColumns());
    }
    begun_items_ = state_.items();
    // Before the files: a file without it would be refused by the next run.
    if (!text) TRY(ReplaceFile(progress_file_, EncodeState(state_, seal_key_)));
    for (size_t i = 0; i < files_.size(); ++i) {
      ASSIGN_OR_RETURN(auto file, AppendedFile::Open(files_[i], state_.outputs[i].bytes));
      outputs_.push_back(std::move(file));
      if (settings_.format != Format::kCsv || state_.outputs[i].bytes > 0) continue;
      std::string header;
      AppendHeader(state_.columns, &header);
      TRY(outputs_[i]->Append(Packed(i, header)));
      const MutexLock lock(mutex_);
      TRY(Count(i, header.size(), 0));
    }
    return OkStatus();
  }

  Status CheckState() const {
    std::string differs;
    if (state_.table != settings_.table) {
      differs = fmt::format("of the table {}", state_.table);
    } else if (state_.table_id != table_.id) {
      differs = "of another table of this name, which is gone";
    } else if (state_.format != settings_.format) {
      differs = fmt::format("in the format {}", NameOf(state_.format));
    } else if (state_.mask != (settings_.mask ? settings_.mask->fingerprint() : std::string())) {
      differs = "with other masks";
    } else if (!settings_.columns.empty() && state_.columns != settings_.columns) {
      differs = "with other columns";
    }
    if (differs.empty()) return OkStatus();
    return ValidationError(fmt::format(
        "{}: an export {} is not finished. Finish it, or remove this file and its output",
        progress_file_, differs));
  }

  // For CSV: the names of all attributes, keys first.
  Status FindColumns() {
    state_.columns = settings_.columns;
    if (settings_.format != Format::kCsv) return OkStatus();
    if (!settings_.columns.empty()) return OkStatus();
    std::set<std::string> found;
    TRY(RunTogether(state_.segments.size(), around_.stop, [&](size_t segment) -> Status {
      const auto client = MakeClient(settings_.endpoint, around_);
      std::string start;
      do {
        if (around_.stop.stopped()) return Error(ErrorCode::kUnavailable, "interrupted");
        TRY(ScanPage(*client, settings_.table, segment, state_.segments.size(), start,
                     settings_.consistent, [&](const Page& page) {
                       start = page.next;
                       return VisitItems(page, settings_.mask, [&](model::ItemView item) {
                         const MutexLock lock(mutex_);
                         for (const auto& entry : item.attributes()) found.emplace(entry.name);
                         return OkStatus();
                       });
                     }));
      } while (!start.empty());
      return OkStatus();
    }));
    state_.columns.push_back(table_.key.partition.name);
    if (table_.key.sort) state_.columns.push_back(table_.key.sort->name);
    for (const std::string& name : found)
      if (!table_.key.Has(name)) state_.columns.push_back(name);
    return OkStatus();
  }

  Status RunSegment(size_t index) {
    const auto client = MakeClient(settings_.endpoint, around_);
    std::string start;
    {
      const MutexLock lock(mutex_);
      if (state_.segments[index].done) return OkStatus();
      start = state_.segments[index].start;
    }
    for (;;) {
      if (around_.stop.stopped()) return OkStatus();
      std::string next, text;
      int64_t items = 0;
      const int64_t retries = client->retries();
      TRY(ScanPage(*client, settings_.table, index, state_.segments.size(), start,
                   settings_.consistent, [&](const Page& page) {
                     next = page.next;
                     Add(&units_micro_, static_cast<int64_t>(page.read_units * 1e6));
                     return VisitItems(page, settings_.mask, [&](model::ItemView item) {
                       ++items;
                       NoteTypes(item);
                       return AppendLine(settings_.format, state_.columns, table_.key, item, &text);
                     });
                   }));
      Add(&retries_, client->retries() - retries);
      const size_t output = outputs_.size() == 1 ? 0 : index;
      const std::string packed = Packed(output, text);
      const MutexLock lock(mutex_);
      TRY(outputs_[output]->Append(packed));
      // Only now, because a later page of another segment records all of the state.
      state_.segments[index].start = next;
      state_.segments[index].done = next.empty();
      TRY(Count(output, text.size(), items));
      if (next.empty()) return OkStatus();
      start = std::move(next);
    }
  }

  std::string Packed(size_t output, const std::string& text) const {
    return !text.empty() && files_[output].ends_with(".gz") ? Zipped(text) : text;
  }

  // Records what was appended to an output.
  Status Count(size_t output, size_t plain_bytes, int64_t items) REQUIRES(mutex_) {
    state_.outputs[output].bytes = outputs_[output]->bytes();
    state_.outputs[output].items += items;
    plain_bytes_ += static_cast<int64_t>(plain_bytes);
    return ReplaceFile(progress_file_, EncodeState(state_, seal_key_));
  }

  // Notes columns that are no text, so that an import can be told.
  void NoteTypes(model::ItemView item) {
    if (settings_.format != Format::kCsv) return;
    const MutexLock lock(mutex_);
    for (const auto& entry : item.attributes()) {
      if (entry.value.type() == model::Type::kS || table_.key.Has(entry.name)) continue;
      types_.emplace(entry.name, model::TypeName(entry.value.type()));
    }
  }

  static void Add(std::atomic<int64_t>* sum, int64_t more) {
    sum->fetch_add(more, std::memory_order_relaxed);
  }

  Counts Look() {
    const MutexLock lock(mutex_);
    Counts counts;
    counts.items = state_.items() - begun_items_;
    counts.bytes = plain_bytes_;
    counts.retries = retries_.load(std::memory_order_relaxed);
    if (table_.items > 0) {
      const auto whole = static_cast<double>(table_.items);
      counts.done = std::min(1.0, static_cast<double>(state_.items()) / whole);
      counts.begun = std::min(1.0, static_cast<double>(begun_items_) / whole);
    }
    return counts;
  }

  Result<ExportReport> Report(bool interrupted) {
    const MutexLock lock(mutex_);
    ExportReport report;
    report.whole = !interrupted || std::all_of(state_.segments.begin(), state_.segments.end(),
                                               [](const auto& segment) { return segment.done; });
    report.progress_file = progress_file_;
    report.files = files_;
    report.items = state_.items();
    report.bytes = state_.bytes();
    report.read_units = units_micro_.load() / 1'000'000;
    report.micros = around_.clock.TicksMicros() - began_;
    for (const auto& [name, type] : types_) report.types.push_back(name + "=" + type);
    if (report.whole) TRY(RemoveFile(progress_file_));
    return report;
  }

  const ExportSettings& settings_;
  const Surroundings& around_;
  const int64_t began_;
  TableInfo table_;
  bool folder_ = false;
  std::string progress_file_;
  std::string seal_key_;
  std::vector<std::string> files_;
  std::vector<std::unique_ptr<AppendedFile>> outputs_;
  int64_t begun_items_ = 0;
  Mutex mutex_;
  // The threads change these under the mutex. The lengths of the vectors and the columns do not
  // change.
  ExportState state_;
  int64_t plain_bytes_ = 0;
  std::map<std::string, std::string> types_;
  std::atomic<int64_t> units_micro_{0};
  std::atomic<int64_t> retries_{0};
};

}  // namespace

Result<ExportReport> RunExport(const ExportSettings& settings, const Surroundings& around) {
  Export work(settings, around);
  return work.Run();
}

}  // namespace stator::bulk
