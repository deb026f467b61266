#include "server/copy_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/printable.h"
#include "copy/copy.h"
#include "server/open_engine.h"
#include "server/settings.h"
#include "table/store.h"

namespace stator::server {
namespace {

constexpr std::string_view kRadosPrefix = "rados:";
constexpr int64_t kReportMicros = 5'000'000;
constexpr int kWorkers = 8;
constexpr size_t kMaxQueued = 4096;

int Fail(const Error& error) {
  fmt::print(stderr, "{}\n", PrintableLines(error.message()));
  return 1;
}

// An engine with its store, which end in this order.
class Open {
 public:
  static Result<std::unique_ptr<Open>> At(const ServeSettings& settings, const Clock& clock) {
    auto open = std::unique_ptr<Open>(new Open);
    ASSIGN_OR_RETURN(std::shared_ptr<const crypt::FileKeys> keys,
                     OpenFileKeys(settings.encryption));
    ASSIGN_OR_RETURN(open->engine_, OpenEngine(settings, std::move(keys)));
    ASSIGN_OR_RETURN(open->store_, table::Store::Open(*open->engine_, clock, open->workers_));
    return open;
  }
  ~Open() {
    workers_.Stop();
    if (store_ != nullptr) store_->Stop();
    // It finishes what is queued while the store is still there.
    engine_.reset();
  }
  table::Store& store() { return *store_; }

 private:
  Open() : workers_(kWorkers, kMaxQueued) {}
  std::unique_ptr<kv::Engine> engine_;
  WorkerPool workers_;
  std::unique_ptr<table::Store> store_;
};

void Print(const copy::Copied& copied, double seconds) {
  switch (copied.how) {
    case copy::Copied::How::kCopied:
      fmt::print("{}: copied {} items in {:.1f} s\n", copied.table, copied.source.items, seconds);
      break;
    case copy::Copied::How::kResumed:
      fmt::print("{}: copied the rest of {} items in {:.1f} s\n", copied.table, copied.source.items,
                 seconds);
      break;
    case copy::Copied::How::kEarlier:
      fmt::print("{}: has been copied before\n", copied.table);
      break;
  }
  for (const auto& [side, digest] :
       {std::pair("source", copied.source), std::pair("target", copied.target)})
    fmt::print("  {}: {} items, {} bytes, checksum {}\n", side, digest.items, digest.bytes,
               digest.Checksum());
  if (copied.has_stream && copied.how != copy::Copied::How::kEarlier)
    fmt::print("  its stream begins empty: records of streams are not copied\n");
  std::fflush(stdout);
}

Status Copy(const CopyCommand& command) {
  ASSIGN_OR_RETURN(ServeSettings from_settings, EngineAt(command, command.from));
  ASSIGN_OR_RETURN(ServeSettings to_settings, EngineAt(command, command.to));
  from_settings.encryption = command.from_encryption;
  to_settings.encryption = command.to_encryption;
  for (const ServeSettings* settings : {&from_settings, &to_settings}) {
    if (settings->engine == EngineKind::kRados && settings->encryption.on())
      return ValidationError("A pool of a Ceph cluster has no key for encryption.");
    if (const std::optional<std::string> wrong = CheckEncryption(settings->encryption))
      return ValidationError(*wrong);
  }
  std::error_code ignored;
  if (command.from == command.to || std::filesystem::equivalent(command.from, command.to, ignored))
    return ValidationError("Source and target are the same store.");
  if (from_settings.engine == EngineKind::kRocksDb &&
      !std::filesystem::exists(std::filesystem::path(from_settings.data_dir) / "CURRENT",
                               ignored)) {
    return ValidationError("There is no store in " + from_settings.data_dir + ".");
  }
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Open> from, Open::At(from_settings, clock));
  if (from->store().List().empty())
    return ValidationError("There are no tables in " + command.from + ".");
  ASSIGN_OR_RETURN(const std::unique_ptr<Open> to, Open::At(to_settings, clock));
  copy::Options options;
  options.tables = command.tables;
  int64_t reported = clock.TicksMicros();
  options.progress = [&](const std::string& table, int64_t items) {
    const int64_t now = clock.TicksMicros();
    if (now - reported >= kReportMicros) {
      reported = now;
      fmt::print(stderr, "{}: {} items\n", table, items);
    }
    return OkStatus();
  };
  int64_t began = clock.TicksMicros();
  return copy::CopyTables(from->store(), to->store(), options, [&](const copy::Copied& copied) {
    const int64_t now = clock.TicksMicros();
    Print(copied, static_cast<double>(now - began) / 1e6);
    began = now;
  });
}

}  // namespace

Result<ServeSettings> EngineAt(const CopyCommand& command, const std::string& place) {
  ServeSettings settings;
  if (!place.starts_with(kRadosPrefix)) {
    if (place.empty()) return ValidationError("A place is a directory or rados:POOL[/NAMESPACE].");
    settings.data_dir = place;
    return settings;
  }
  settings.engine = EngineKind::kRados;
  settings.ceph_conf = command.ceph_conf;
  settings.ceph_user = command.ceph_user;
  const std::string rest = place.substr(kRadosPrefix.size());
  const size_t slash = rest.find('/');
  settings.pool = rest.substr(0, slash);
  if (slash != std::string::npos) settings.ceph_namespace = rest.substr(slash + 1);
  if (settings.pool.empty() || (slash != std::string::npos && settings.ceph_namespace.empty()))
    return ValidationError("The place " + place +
                           " is neither rados:POOL nor rados:POOL/NAMESPACE.");
  if (settings.ceph_conf.empty())
    return ValidationError("The place " + place + " needs --ceph-conf.");
  return settings;
}

int Execute(const CopyCommand& command) {
  SetLogLevel(LogLevel::kWarn);
  const Status copied = Copy(command);
  return copied.ok() ? 0 : Fail(copied.error());
}

}  // namespace stator::server
