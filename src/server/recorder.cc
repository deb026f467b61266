#include "server/recorder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "api/recorded_table.h"
#include "base/log.h"
#include "request_log/read_line.h"
#include "request_log/write_line.h"

namespace stator::server {
namespace {

// How long a request waits at most before it is written, unless many come.
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr size_t kFirstLineBytes = 512;  // a header is shorter
constexpr int64_t kEndBytes = 256;       // kept free for the last line

std::string SystemError() { return std::strerror(errno); }

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// As much of a file's beginning as there is, up to `limit`.
Result<std::string> ReadStart(int fd, const std::string& path, size_t limit) {
  std::string text(limit, '\0');
  const ssize_t count = pread(fd, text.data(), limit, 0);
  if (count < 0) return Error(ErrorCode::kUnavailable, path + " cannot be read: " + SystemError());
  text.resize(static_cast<size_t>(count));
  return text;
}

// `secret` as 32 hexadecimal digits, and back.
std::string SecretText(const request_log::HashSecret& secret) {
  return fmt::format("{:016x}{:016x}\n", secret[0], secret[1]);
}
bool ParseSecret(std::string_view text, request_log::HashSecret* secret) {
  if (text.size() != 33 || text.back() != '\n') return false;
  for (size_t i = 0; i < 2; ++i) {
    const char* from = text.data() + 16 * i;
    const auto [end, error] = std::from_chars(from, from + 16, (*secret)[i], 16);
    if (error != std::errc() || end != from + 16) return false;
  }
  return true;
}

// The secret beside a recording; `fresh` becomes it if there is none.
Result<request_log::HashSecret> SecretOf(const std::string& path,
                                         const request_log::HashSecret& fresh) {
  const std::string name = path + ".secret";
  const Descriptor made(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made.get() >= 0) {
    if (WriteAll(made.get(), SecretText(fresh))) return fresh;
    return Error(ErrorCode::kUnavailable, name + " cannot be written: " + SystemError());
  }
  const Descriptor there(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (there.get() < 0)
    return Error(ErrorCode::kUnavailable, name + " cannot be opened: " + SystemError());
  ASSIGN_OR_RETURN(const std::string text, ReadStart(there.get(), name, 64));
  request_log::HashSecret secret;
  if (!ParseSecret(text, &secret))
    return ValidationError(name + " is not the secret of a recording");
  return secret;
}

// Checks that an existing file is a recording to which this version can append.
Status CheckFormat(std::string_view start, const std::string& path) {
  const std::string_view line = start.substr(0, start.find('\n'));
  const Result<request_log::Record> record = request_log::LineReader().Read(line);
  if (!record.ok() && line.starts_with("{\"stator_request_log\":")) {
    return ValidationError(path + " is another format of recording: " + record.error().message());
  }
  if (!record.ok() || !std::holds_alternative<request_log::Header>(*record)) {
    return ValidationError(path + " is there already and is no recording of requests");
  }
  return OkStatus();
}

size_t WeightOf(const request_log::Request& request) {
  size_t weight = sizeof(request);
  for (const request_log::KeyUse& touch : request.keys)
    weight += sizeof(touch) + touch.partition.size() + touch.sort.size();
  for (const request_log::IndexWrite& write : request.index_writes)
    weight += sizeof(write) + write.partition.size();
  for (const auto* names : {&request.attributes, &request.filter}) {
    for (const std::string& name : *names) weight += sizeof(name) + name.size();
  }
  return weight;
}

}  // namespace

struct Recorder::File {
  Descriptor descriptor;
  int64_t size = 0;
};

Result<std::unique_ptr<Recorder>> Recorder::Open(RecorderOptions options, table::Store& store,
                                                 const Clock& clock) {
  const std::string& path = options.path;
  // With O_NONBLOCK a pipe without a reader is refused instead of blocking.
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640));
  if (file.get() < 0)
    return Error(ErrorCode::kUnavailable, path + " cannot be opened: " + SystemError());
  struct stat status = {};
  if (fstat(file.get(), &status) != 0)
    return Error(ErrorCode::kUnavailable, path + ": " + SystemError());
  if (!S_ISREG(status.st_mode)) return ValidationError(path + " is no regular file");
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorCode::kUnavailable, path + " is being written by another process");
  }
  std::string separator;
  if (status.st_size > 0) {
    ASSIGN_OR_RETURN(const std::string start, ReadStart(file.get(), path, kFirstLineBytes));
    TRY(CheckFormat(start, path));
    char last = '\n';
    if (pread(file.get(), &last, 1, status.st_size - 1) != 1) {
      return Error(ErrorCode::kUnavailable, path + " cannot be read: " + SystemError());
    }
    if (last != '\n') separator = "\n";  // the last line was cut off
  }
  if (status.st_size + kEndBytes >= options.most_bytes) {
    return ValidationError(path + " has reached the limit of --record-max-mb");
  }
  if (status.st_size > 0) {
    LogWarn("recording_appended", {{"file", path},
                                   {"bytes", static_cast<int64_t>(status.st_size)},
                                   {"hint", "stator advise reads earlier requests, too"}});
  }
  request_log::Header header;
  header.at_micros = clock.NowMicros();
  header.keys = options.keys;
  request_log::HashSecret secret = {};
  if (options.keys == request_log::KeyForm::kHashed) {
    ASSIGN_OR_RETURN(secret, SecretOf(path, options.new_secret));
    header.salt = fmt::format("{:08x}", request_log::KeyedHash(secret, "salt") >> 32);
  }
  auto recorder = std::unique_ptr<Recorder>(
      new Recorder(std::move(options),
                   std::make_unique<File>(File{std::move(file), status.st_size}), store, clock));
  recorder->secret_ = secret;
  if (!recorder->Append(separator + request_log::WriteLine(header))) {
    return Error(ErrorCode::kUnavailable, recorder->options_.path + " cannot be written");
  }
  recorder->DefineAll(false);
  recorder->thread_ = std::thread([r = recorder.get()] { r->Run(); });
  return recorder;
}

Recorder::Recorder(RecorderOptions options, std::unique_ptr<File> file, table::Store& store,
                   const Clock& clock)
    : options_(std::move(options)), file_(std::move(file)), store_(store), clock_(clock) {}

Recorder::~Recorder() { Stop(); }

void Recorder::Take(std::vector<request_log::Request> requests) {
  if (requests.empty()) return;
  size_t weight = 0;
  for (const request_log::Request& request : requests) weight += WeightOf(request);
  bool hurry = false;
  {
    // Held by the writer only while it takes the whole queue away.
    std::lock_guard lock(mutex_);
    if (queued_bytes_ + weight > options_.most_queued_bytes || !on()) {
      dropped_ += static_cast<int64_t>(requests.size());
      return;
    }
    const size_t half = options_.most_queued_bytes / 2;
    hurry = queued_bytes_ < half && queued_bytes_ + weight >= half;
    queued_bytes_ += weight;
    for (request_log::Request& request : requests) queue_.push_back(std::move(request));
  }
  if (hurry) wake_.notify_one();
}

void Recorder::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (on()) {
    DefineAll(true);
    Append(request_log::WriteLine(request_log::End{clock_.NowMicros(), "stopped"}));
    LogInfo("recording_ended",
            {{"file", options_.path}, {"requests", written()}, {"lost", lost()}});
  }
  on_.store(false, std::memory_order_relaxed);
}

void Recorder::Run() {
  std::vector<request_log::Request> batch;
  for (bool last = false; !last;) {
    int64_t dropped = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kPause, [this] {
        return stopping_ || queued_bytes_ >= options_.most_queued_bytes / 2;
      });
      last = stopping_;
      batch.clear();
      batch.swap(queue_);
      queued_bytes_ = 0;
      dropped = std::exchange(dropped_, 0);
    }
    if (on()) WriteBatch(std::move(batch), dropped);
  }
}

void Recorder::WriteBatch(std::vector<request_log::Request> batch, int64_t lost) {
  std::map<std::string_view, bool> seen;
  std::string out;
  for (request_log::Request& request : batch) {
    if (seen.try_emplace(request.table, true).second) {
      if (const table::TablePtr table = store_.Find(request.table)) DefineTable(table, false, &out);
    }
  }
  std::vector<size_t> ends;  // in `out`, of requests
  for (request_log::Request& request : batch) {
    if (options_.keys == request_log::KeyForm::kHashed) request_log::HashKeys(secret_, &request);
    out += request_log::WriteLine(request);
    ends.push_back(out.size());
    if (out.size() < (1u << 20)) continue;
    if (!Append(out, ends)) return;
    out.clear();
    ends.clear();
  }
  if (lost > 0) {
    lost_.fetch_add(lost, std::memory_order_relaxed);
    out += request_log::WriteLine(request_log::Lost{clock_.NowMicros(), lost});
    if (!told_of_loss_) LogWarn("requests_not_recorded", {{"file", options_.path}, {"lost", lost}});
    told_of_loss_ = true;
  }
  if (!out.empty()) Append(out, ends);
}

void Recorder::DefineTable(const table::TablePtr& table, bool again, std::string* out) {
  Defined& defined = defined_[table->descriptor.name];
  if (!again && defined.table == table) return;
  defined.table = table;
  request_log::TableDefinition definition = api::RecordedTable(*table);
  std::string line = request_log::WriteLine(definition);
  if (!again && line == defined.line) return;
  defined.line = std::move(line);
  definition.at_micros = clock_.NowMicros();
  api::AddSizes(store_, *table, &definition);
  *out += request_log::WriteLine(definition);
}

void Recorder::DefineAll(bool again) {
  std::string out;
  for (const table::TablePtr& table : store_.List()) DefineTable(table, again, &out);
  if (!out.empty()) Append(out);
}

bool Recorder::Append(std::string_view lines, const std::vector<size_t>& request_ends) {
  if (!on()) return false;
  // Whole lines only.
  const int64_t room = options_.most_bytes - kEndBytes - file_->size;
  std::string_view fits = lines;
  if (static_cast<int64_t>(lines.size()) > room) {
    fits = lines.substr(0, room <= 0 ? 0 : static_cast<size_t>(room));
    fits = fits.substr(0, fits.rfind('\n') + 1);
  }
  if (!WriteAll(file_->descriptor.get(), fits)) {
    const std::string error = SystemError();
    // Cut off the line that was written only in part.
    if (ftruncate(file_->descriptor.get(), file_->size) != 0) {
      LogWarn("recording_cut_off", {{"file", options_.path}});
    }
    End("recording_failed", error);
    return false;
  }
  file_->size += static_cast<int64_t>(fits.size());
  const auto beyond = std::upper_bound(request_ends.begin(), request_ends.end(), fits.size());
  written_.fetch_add(beyond - request_ends.begin(), std::memory_order_relaxed);
  if (fits.size() == lines.size()) return true;
  const std::string end = request_log::WriteLine(request_log::End{clock_.NowMicros(), "size"});
  if (WriteAll(file_->descriptor.get(), end)) file_->size += static_cast<int64_t>(end.size());
  End("recording_full", "the limit of --record-max-mb is reached");
  return false;
}

void Recorder::End(std::string_view event, const std::string& error) {
  on_.store(false, std::memory_order_relaxed);
  LogWarn(event,
          {{"file", options_.path}, {"reason", error}, {"requests", written()}, {"lost", lost()}});
}

}  // namespace stator::server
