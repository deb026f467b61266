#include "bulk/import_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "api/attribute_json.h"
#include "base/json_writer.h"
#include "bulk/batch.h"
#include "bulk/meter.h"
#include "bulk/scan.h"

namespace stator::bulk {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNotTold =
    "The item cannot be read. The error may show a value that --mask would take out: import the "
    "file without --mask into a table of your own to see it.";
constexpr int64_t kBetweenLooks = 200'000;  // at a table that is being made

// Hands batches from the reader to the connections. Thread-safe.
class Batches {
 public:
  explicit Batches(size_t most) : most_(most) {}
  // Waits while it is full. False: it was closed.
  bool Add(Batch batch) {
    std::unique_lock<Mutex> lock(mutex_);
    wake_.wait(lock,
               [this]() NO_THREAD_SAFETY_ANALYSIS { return closed_ || queue_.size() < most_; });
    return Push(std::move(batch));
  }
  // Waits for one; nothing once it is closed and empty.
  std::optional<Batch> Take() NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<Mutex> lock(mutex_);
    wake_.wait(lock, [this]() NO_THREAD_SAFETY_ANALYSIS { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return std::nullopt;
    std::optional<Batch> batch(std::move(queue_.front()));
    queue_.pop_front();
    wake_.notify_all();
    return batch;
  }
  void Close(bool drop) {
    const MutexLock lock(mutex_);
    closed_ = true;
    if (drop) queue_.clear();
    wake_.notify_all();
  }

 private:
  bool Push(Batch batch) NO_THREAD_SAFETY_ANALYSIS {
    if (closed_) return false;
    queue_.push_back(std::move(batch));
    wake_.notify_all();
    return true;
  }

  const size_t most_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Batch> queue_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

// kValidation, in the service's words, if the item lacks its key.
Status CheckKey(const model::KeySchema& schema, model::ItemView item) {
  const auto check = [&](const model::KeyAttribute& attribute) -> Status {
    const model::ValueView value = item.Find(attribute.name);
    if (value.empty()) {
      return ValidationError(
          fmt::format("One or more parameter values were invalid: Missing the key {} in the item",
                      attribute.name));
    }
    if (value.type() == attribute.type) return OkStatus();
    return ValidationError(fmt::format(
        "One or more parameter values were invalid: Type mismatch for key {} expected: "
        "{} actual: {}",
        attribute.name, model::TypeName(attribute.type), model::TypeName(value.type())));
  };
  TRY(check(schema.partition));
  return schema.sort ? check(*schema.sort) : OkStatus();
}

class Import {
 public:
  Import(const ImportSettings& settings, const Surroundings& around)
      : settings_(settings),
        around_(around),
        began_(around.clock.TicksMicros()),
        batches_(settings.connections) {}

  Result<ImportReport> Run() {
    TRY(PrepareTable());
    if (settings_.mask) TRY(settings_.mask->CheckKeys(table_.key));
    TRY(OpenFiles());
    Ticker ticker(around_.clock, around_.quiet, [this] { return Look(); });
    const Status moved =
        RunTogether(settings_.connections + 1, around_.stop, [this](size_t index) -> Status {
          const Status done = index == 0 ? ReadAll() : PutAll();
          if (index == 0 || !done.ok()) batches_.Close(!done.ok());
          return done;
        });
    ticker.Stop();
    const bool interrupted = around_.stop.interrupted();
    // Items that are durable stay counted, however the run ended.
    Status saved = OkStatus();
    for (File& file : files_) {
      const Status one = file.progress->Save(file.read && moved.ok() && !interrupted);
      if (saved.ok()) saved = one;
    }
    if (!moved.ok() && !interrupted) return moved.error();
    if (!saved.ok()) return saved.error();
    return Report(!interrupted);
  }

 private:
  struct File {
    std::string path;
    std::unique_ptr<FileProgress> progress;
    uint64_t bytes = 0;
    bool read = false;  // to its end
  };

  Status PrepareTable() {
    const auto client = MakeClient(settings_.endpoint, around_);
    Result<TableInfo> table = DescribeTable(*client, settings_.table);
    const bool missing = !table.ok() && table.error().code() == ErrorCode::kResourceNotFound;
    if (missing && settings_.create) {
      TRY(CreateTable(*client));
      for (;;) {
        table = DescribeTable(*client, settings_.table);
        if (!table.ok() || table->status == "ACTIVE") break;
        if (!around_.pause(kBetweenLooks)) return Error(ErrorCode::kUnavailable, "interrupted");
      }
    }
    if (missing && !settings_.create)
      return ValidationError(table.error().message() + "; --create makes it");
    if (!table.ok()) return table.error();
    table_ = *std::move(table);
    if (settings_.create && !(*settings_.create == table_.key)) {
      return ValidationError(
          fmt::format("the table {} is there, with another key than --create", settings_.table));
    }
    return OkStatus();
  }

  Status CreateTable(api_client::Client& client) {
    JsonWriter json;
    const model::KeySchema& key = *settings_.create;
    json.Open('{').Field("TableName", settings_.table).Field("BillingMode", "PAY_PER_REQUEST");
    json.Key("AttributeDefinitions").Open('[');
    const auto define = [&](const model::KeyAttribute& attribute) {
      json.Open('{').Field("AttributeName", attribute.name);
      json.Field("AttributeType", model::TypeName(attribute.type)).Close('}');
    };
    define(key.partition);
    if (key.sort) define(*key.sort);
    json.Close(']').Key("KeySchema").Open('[');
    json.Open('{').Field("AttributeName", key.partition.name).Field("KeyType", "HASH").Close('}');
    if (key.sort)
      json.Open('{').Field("AttributeName", key.sort->name).Field("KeyType", "RANGE").Close('}');
    json.Close(']').Close('}');
    const Result<std::string> made = client.Call("DynamoDB_20120810.CreateTable", json.Take());
    // A repeated call finds the table of the first one.
    if (!made.ok() && api_client::RefusalType(made.error()) != "ResourceInUseException")
      return made.error();
    return OkStatus();
  }

  std::string StatePathOf(const std::string& path) const {
    if (settings_.work_dir.empty()) return path;
    return (fs::path(settings_.work_dir) / fs::path(path).filename()).string();
  }

  Status OpenFiles() {
    std::set<std::string> states;
    for (const std::string& from : settings_.from) {
      ASSIGN_OR_RETURN(const std::vector<std::string> paths, FilesOf(from));
      for (const std::string& path : paths) {
        ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input, InputFile::Open(path));
        const std::string state = StatePathOf(path);
        if (!states.insert(state).second)
          return ValidationError(
              fmt::format("{}: is given twice, or two files have its name", path));
        FileProgress::Identity identity;
        identity.table = settings_.table;
        identity.table_id = table_.id;
        identity.mask = settings_.mask ? settings_.mask->fingerprint() : std::string();
        identity.file_bytes = input->size();
        identity.file_changed_micros = input->changed_micros();
        File file;
        file.path = path;
        file.bytes = input->size();
        ASSIGN_OR_RETURN(file.progress,
                         FileProgress::Open(path, state, std::move(identity), around_.clock));
        files_.push_back(std::move(file));
        all_bytes_ += static_cast<int64_t>(input->size());
      }
    }
    return OkStatus();
  }

  Status ReadAll() {
    for (File& file : files_) {
      if (around_.stop.stopped()) return OkStatus();
      const Status read = file.progress->finished() ? OkStatus() : ReadFile(file);
      // A connection has failed, and says why.
      if (refused_) return OkStatus();
      if (!read.ok()) return read.error();
      if (file.progress->finished()) Add(&read_bytes_, static_cast<int64_t>(file.bytes));
      file.read = true;
    }
    return OkStatus();
  }

  // Makes batches of the items of a file.
  Status ReadFile(File& file) {
    Batch batch;
    batch.file = file.progress.get();
    const int64_t skipped = file.progress->durable();
    batch.first = batch.end = skipped;
    std::set<std::string> keys;
    int64_t index = 0;
    const auto flush = [&]() -> Status {
      if (batch.end == batch.first) return OkStatus();
      Batch next;
      next.file = batch.file;
      next.first = next.end = batch.end;
      keys.clear();
      if (batches_.Add(std::exchange(batch, std::move(next)))) return OkStatus();
      refused_ = true;
      return Error(ErrorCode::kUnavailable, "interrupted");
    };
    const auto visit = [&](Result<std::string> item) -> Status {
      const int64_t at = index++;
      if (around_.stop.stopped()) return Error(ErrorCode::kUnavailable, "interrupted");
      if (at < skipped) return OkStatus();
      if (item.ok() && settings_.mask) item = settings_.mask->Apply(model::ItemView(*item));
      // A value that cannot be read is not masked, and an error may quote it.
      if (!item.ok() && settings_.mask) item = ValidationError(std::string(kNotTold));
      const Status fits =
          item.ok() ? CheckKey(table_.key, model::ItemView(*item)) : Status(item.error());
      if (!fits.ok()) {
        NoteError(file.path, at, fits.error().message());
        batch.refused.push_back({at, fits.error().message()});
        batch.end = at + 1;
        return batch.refused.size() < kMostBatchItems ? OkStatus() : flush();
      }
      std::string key = model::KeyAttributesOf(table_.key, model::ItemView(*item));
      std::string json;
      api::AppendItemJson(&json, model::ItemView(*item));
      // A batch with two items of one key is refused.
      const bool full = batch.puts.size() == kMostBatchItems || keys.count(key) > 0 ||
                        (!batch.puts.empty() && batch.bytes + json.size() > kMostBatchBytes);
      if (full) TRY(flush());
      keys.insert(std::move(key));
      batch.bytes += json.size();
      batch.puts.push_back({at, std::move(json)});
      batch.end = at + 1;
      return OkStatus();
    };
    int64_t plain_bytes = 0;
    ASSIGN_OR_RETURN(std::unique_ptr<InputFile> input, InputFile::Open(file.path));
    input->CountInto(&read_bytes_);
    TRY(ReadFileItems(std::move(input), file.path, settings_.input, table_.key, visit, &plain_bytes,
                      [this] { return around_.stop.stopped(); }));
    if (index < skipped) {
      return CorruptionError(
          fmt::format("{}: has {} items, and {} were imported before", file.path, index, skipped));
    }
    return flush();
  }

  Status PutAll() {
    const auto client = MakeClient(settings_.endpoint, around_);
    while (std::optional<Batch> batch = batches_.Take()) {
      const int64_t retries = client->retries();
      const size_t known = batch->refused.size();
      TRY(PutBatch(*client, settings_.table, &*batch));
      Add(&retries_, client->retries() - retries);
      for (size_t i = known; i < batch->refused.size(); ++i)
        NoteError(PathOf(batch->file), batch->refused[i].index, batch->refused[i].message);
      const auto put = static_cast<int64_t>(batch->puts.size() - (batch->refused.size() - known));
      Add(&put_items_, put);
      Add(&put_bytes_, static_cast<int64_t>(batch->bytes));
      TRY(batch->file->Done(batch->first, batch->end, std::move(batch->refused)));
    }
    return OkStatus();
  }

  const std::string& PathOf(const FileProgress* progress) const {
    const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& file) {
      return file.progress.get() == progress;
    });
    return found->path;
  }

  void NoteError(const std::string& path, int64_t index, const std::string& message) {
    Add(&run_errors_, 1);
    const MutexLock lock(mutex_);
    if (first_error_.empty()) first_error_ = fmt::format("{}: item {}: {}", path, index, message);
  }

  static void Add(std::atomic<int64_t>* sum, int64_t more) {
    sum->fetch_add(more, std::memory_order_relaxed);
  }
  static int64_t Get(const std::atomic<int64_t>& sum) {
    return sum.load(std::memory_order_relaxed);
  }

  Counts Look() {
    Counts counts;
    counts.items = Get(put_items_);
    counts.bytes = Get(put_bytes_);
    counts.errors = Get(run_errors_);
    counts.retries = Get(retries_);
    if (all_bytes_ > 0)
      counts.done = static_cast<double>(Get(read_bytes_)) / static_cast<double>(all_bytes_);
    return counts;
  }

  Result<ImportReport> Report(bool whole) {
    ImportReport report;
    report.whole = whole;
    for (File& file : files_) {
      report.items += file.progress->durable() - file.progress->errors();
      report.errors += file.progress->errors();
      if (file.progress->errors() > 0) report.error_files.push_back(file.progress->errors_path());
      if (whole) TRY(file.progress->Remove());
    }
    report.put = Get(put_items_);
    report.bytes = Get(put_bytes_);
    report.micros = around_.clock.TicksMicros() - began_;
    const MutexLock lock(mutex_);
    report.first_error = first_error_;
    return report;
  }

  const ImportSettings& settings_;
  const Surroundings& around_;
  const int64_t began_;
  TableInfo table_;
  std::vector<File> files_;
  int64_t all_bytes_ = 0;
  Batches batches_;
  bool refused_ = false;  // a batch, because the queue was closed
  std::atomic<int64_t> read_bytes_{0};
  std::atomic<int64_t> put_items_{0};
  std::atomic<int64_t> put_bytes_{0};
  std::atomic<int64_t> run_errors_{0};
  std::atomic<int64_t> retries_{0};
  Mutex mutex_;
  std::string first_error_ GUARDED_BY(mutex_);
};

}  // namespace

Result<ImportReport> RunImport(const ImportSettings& settings, const Surroundings& around) {
  Import work(settings, around);
  return work.Run();
}

Result<model::KeySchema> ParseKey(std::string_view text) {
  std::vector<model::KeyAttribute> attributes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t colon = part.rfind(':');
    const std::optional<model::Type> type = colon == std::string_view::npos
                                                ? std::nullopt
                                                : model::TypeFromName(part.substr(colon + 1));
    const bool good =
        type && colon > 0 &&
        (*type == model::Type::kS || *type == model::Type::kN || *type == model::Type::kB);
    if (!good || attributes.size() == 2)
      return ValidationError(fmt::format("\"{}\": a key is like pk:S or pk:S,sk:N", text));
    attributes.push_back({std::string(part.substr(0, colon)), *type});
  }
  model::KeySchema key;
  key.partition = attributes[0];
  if (attributes.size() > 1) key.sort = attributes[1];
  return key;
}

}  // namespace stator::bulk
