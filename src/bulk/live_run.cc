#include "bulk/live_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "base/json_writer.h"
#include "bulk/batch.h"
#include "bulk/definition.h"
#include "bulk/live_finish.h"
#include "bulk/live_follow.h"
#include "bulk/live_items.h"
#include "bulk/live_progress.h"
#include "bulk/meter.h"
#include "bulk/pace.h"
#include "bulk/scan.h"

namespace stator::bulk {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBetweenLooks = 200'000;  // at a stream that was enabled

// Whether a table may have this name; it is that of a file, too.
bool IsTableName(const std::string& name) {
  return name.size() >= 3 && name.size() <= 255 &&
         std::all_of(name.begin(), name.end(), [](unsigned char byte) {
           return std::isalnum(byte) != 0 || byte == '_' || byte == '-' || byte == '.';
         });
}

class Live {
 public:
  Live(const LiveSettings& settings, const Surroundings& around)
      : settings_(settings), around_(around), pace_(around.clock, settings.read_units) {}

  Result<LiveReport> Run() {
    if (!IsTableName(settings_.table))
      return ValidationError(fmt::format("\"{}\" is no name of a table", settings_.table));
    source_client_ = MakeClient(settings_.source, around_);
    target_client_ = MakeClient(settings_.target, around_);
    ASSIGN_OR_RETURN(source_, DescribeTable(*source_client_, settings_.table));
    if (settings_.mask) TRY(settings_.mask->CheckKeys(source_.key));
    TRY(OpenProgress());
    TRY(PrepareTarget());
    Status done = Work();
    const bool interrupted = around_.stop.interrupted();
    // Items that are in the target stay counted, however the run ended.
    if (!removed_) {
      const Status saved = progress_->Update(true, [](LiveState*) {});
      if (done.ok()) done = saved;
    }
    if (!done.ok() && !interrupted) return std::move(done).error();
    return Report(!interrupted);
  }

 private:
  Status OpenProgress() {
    const std::string path = (fs::path(settings_.work_dir) / settings_.table).string();
    ASSIGN_OR_RETURN(
        progress_,
        LiveProgress::Open(path, settings_.mask ? settings_.mask->SealKey() : std::string(),
                           around_.clock));
    const std::string mask = settings_.mask ? settings_.mask->fingerprint() : std::string();
    if (!progress_->resumed()) {
      return progress_->Update(false, [&](LiveState* state) {
        state->table = settings_.table;
        state->source = settings_.source.url.origin();
        state->source_id = source_.id;
        state->target = settings_.target.url.origin();
        state->mask = mask;
        state->segments.resize(settings_.segments);
      });
    }
    const LiveState state = progress_->state();
    std::string differs;
    if (state.table != settings_.table) {
      differs = fmt::format("of the table {}", state.table);
    } else if (state.source != settings_.source.url.origin()) {
      differs = fmt::format("from {}", state.source);
    } else if (state.target != settings_.target.url.origin()) {
      differs = fmt::format("to {}", state.target);
    } else if (state.source_id != source_.id) {
      differs = "from another table of this name";
    } else if (state.mask != mask) {
      differs = "with other masks";
    } else if (settings_.follow != (!state.stream.empty() || state.stream_added)) {
      differs = settings_.follow ? "without --follow" : "with --follow";
    }
    if (differs.empty()) return OkStatus();
    return ValidationError(
        fmt::format("{}: a copy {} is not finished. Finish it, or remove this file to begin again",
                    progress_->path(), differs));
  }

  // Finds the target's table, or makes it.
  Status PrepareTarget() {
    const LiveState state = progress_->state();
    Result<TableInfo> found = DescribeTable(*target_client_, settings_.table);
    const bool missing = !found.ok() && found.error().code() == ErrorCode::kResourceNotFound;
    if (!found.ok() && !missing) return found.error();
    if (!state.target_id.empty()) {
      if (missing || found->id != state.target_id) {
        return ValidationError(
            fmt::format("{}: the table {} that the copy began with is gone from {}. Remove this "
                        "file to begin again",
                        progress_->path(), settings_.table, state.target));
      }
      target_ = *std::move(found);
      return CheckStream();
    }
    if (!missing) TRY(CheckTarget(*found));
    TRY(PrepareStream());
    if (missing) {
      // Recorded first: a run that ends behind CreateTable knows that the table is its own.
      TRY(progress_->Update(true, [](LiveState* changed) { changed->made = true; }));
      ASSIGN_OR_RETURN(const std::string body,
                       CreateTableJson(source_.description, settings_.on_demand));
      found = MakeTable(*target_client_, settings_.table, body, around_.pause);
    } else {
      found = WaitForTable(*target_client_, settings_.table, around_.pause);
    }
    if (!found.ok()) return found.error();
    target_ = *std::move(found);
    return progress_->Update(true, [&](LiveState* changed) { changed->target_id = target_.id; });
  }

  // Whether a table that is there may be copied into.
  Status CheckTarget(const TableInfo& found) {
    if (found.id == source_.id && settings_.source.url.origin() == settings_.target.url.origin())
      return ValidationError("the source and the target are the same table");
    if (!(found.key == source_.key)) {
      return ValidationError(fmt::format("{} has a table {} with another key",
                                         settings_.target.url.origin(), settings_.table));
    }
    if (settings_.into) return OkStatus();
    ASSIGN_OR_RETURN(const bool empty, IsEmpty(*target_client_, settings_.table));
    if (empty) return OkStatus();
    return ValidationError(
        fmt::format("{} has a table {} with items. Delete it, or give --into to put the source's "
                    "items among them",
                    settings_.target.url.origin(), settings_.table));
  }

  // Finds the source's stream, or enables it if settings.enable_stream, and notes its shards.
  Status PrepareStream() {
    if (!settings_.follow || !progress_->state().stream.empty()) return OkStatus();
    ASSIGN_OR_RETURN(LateSettings late, LateSettingsOf(source_.description));
    if (late.stream.empty()) {
      if (!settings_.enable_stream) {
        return ValidationError(
            fmt::format("{} has no stream that could be followed. --enable-stream enables one on "
                        "the source, with NEW_AND_OLD_IMAGES",
                        settings_.table));
      }
      TRY(progress_->Update(true, [](LiveState* state) { state->stream_added = true; }));
      JsonWriter json;
      json.Open('{').Field("TableName", settings_.table).Key("StreamSpecification").Open('{');
      json.Key("StreamEnabled").Bool(true).Field("StreamViewType", "NEW_AND_OLD_IMAGES");
      json.Close('}').Close('}');
      TRY(source_client_->Call("DynamoDB_20120810.UpdateTable", json.Take()));
      ASSIGN_OR_RETURN(source_, WaitForTable(*source_client_, settings_.table, around_.pause));
      ASSIGN_OR_RETURN(late, LateSettingsOf(source_.description));
    }
    if (late.stream_view != "NEW_IMAGE" && late.stream_view != "NEW_AND_OLD_IMAGES") {
      return ValidationError(
          fmt::format("the stream of {} has {} and no new images. Disable it, and enable it with "
                      "NEW_IMAGE or NEW_AND_OLD_IMAGES",
                      settings_.table, late.stream_view));
    }
    const auto streams = MakeClient(api_client::StreamsOf(settings_.source), around_);
    const int64_t now = around_.clock.NowMicros();
    std::vector<FollowedShard> shards;
    // A stream that was enabled a moment ago may have none yet.
    for (;;) {
      ASSIGN_OR_RETURN(const std::vector<ListedShard> listed,
                       ListShards(*streams, late.stream_arn));
      shards = FirstShards(listed);
      if (!shards.empty()) break;
      if (!around_.pause(kBetweenLooks)) return Error(ErrorCode::kUnavailable, "interrupted");
    }
    return progress_->Update(true, [&](LiveState* state) {
      state->stream = late.stream_arn;
      state->safe_micros = now;
      state->shards = shards;
    });
  }

  // Whether the stream that the copy began with still has all changes.
  Status CheckStream() {
    if (!settings_.follow) return OkStatus();
    ASSIGN_OR_RETURN(const LateSettings late, LateSettingsOf(source_.description));
    if (!late.stream.empty() && late.stream_arn == progress_->state().stream) return OkStatus();
    return CorruptionError(
        fmt::format("{}: the source's stream was disabled since the copy began, and what was "
                    "written then is unknown. Delete the target's table and this file, and start "
                    "again",
                    progress_->path()));
  }

  Status Work() {
    TRY(Scan());
    if (around_.stop.stopped()) return OkStatus();
    if (settings_.follow) {
      follower_ = std::make_unique<Follower>(settings_, around_, source_.key, *progress_);
      TRY(Follow());
    }
    TRY(Compare());
    const bool equal = !report_.check || report_.check->outcome == CheckReport::Outcome::kEqual;
    if (!equal || (settings_.follow && !settings_.finish)) return OkStatus();
    if (settings_.follow) {
      const int64_t before = follower_->records();
      TRY(Follow());
      report_.written = follower_->records() != before || checked_records_ != before;
      if (report_.written) return OkStatus();
    }
    const LiveState state = progress_->state();
    if (state.made) {
      TRY(FinishTable(*source_client_, *target_client_, source_, !state.stream_added, around_.pause,
                      &report_.notes));
    }
    if (state.stream_added) {
      report_.notes.push_back(
          "the source still has the stream that --enable-stream enabled; disable it there");
    }
    removed_ = true;
    return progress_->Remove();
  }

  Status Follow() {
    Ticker ticker(around_.clock, around_.quiet, [this] {
      Counts counts;
      counts.subject = settings_.table;
      counts.items = follower_->records();
      counts.retries = follower_->retries();
      counts.note = fmt::format("following the stream, {:.1f} s behind",
                                static_cast<double>(follower_->lag_micros()) / 1e6);
      return counts;
    });
    const Status done = follower_->CatchUp();
    ticker.Stop();
    report_.applied = follower_->records();
    report_.lag_micros = follower_->lag_micros();
    return done;
  }

  Status Compare() {
    if (settings_.check == LiveSettings::Check::kNone) return OkStatus();
    std::atomic<int64_t> looked{0};
    Ticker ticker(around_.clock, around_.quiet, [&] {
      Counts counts;
      counts.subject = settings_.table;
      counts.items = looked.load();
      counts.note = "comparing";
      return counts;
    });
    std::function<Status()> catch_up;
    if (follower_) {
      checked_records_ = follower_->records();
      catch_up = [this] { return follower_->CatchUp(); };
    }
    Result<CheckReport> check =
        CheckTables(settings_, around_, source_.key, pace_, catch_up, &looked);
    ticker.Stop();
    if (!check.ok()) return check.error();
    report_.check = *std::move(check);
    return OkStatus();
  }

  Status Scan() {
    if (progress_->state().scanned) {
      report_.scanned_before = true;
      return OkStatus();
    }
    const int64_t began = around_.clock.TicksMicros();
    begun_items_ = progress_->state().items;
    Ticker ticker(around_.clock, around_.quiet, [this] { return Look(); });
    const size_t segments = progress_->state().segments.size();
    const Status scanned = RunTogether(
        segments, around_.stop, [&](size_t segment) { return RunSegment(segment, segments); });
    ticker.Stop();
    report_.micros = around_.clock.TicksMicros() - began;
    TRY(scanned);
    if (around_.stop.stopped()) return OkStatus();
    return progress_->Update(true, [](LiveState* state) { state->scanned = true; });
  }

  Status RunSegment(size_t index, size_t segments) {
    const auto source = MakeClient(settings_.source, around_);
    const auto target = MakeClient(settings_.target, around_);
    const ExportState::Segment begun = progress_->state().segments[index];
    if (begun.done) return OkStatus();
    std::string start = begun.start;
    for (;;) {
      if (around_.stop.stopped()) return OkStatus();
      const int64_t retries = source->retries() + target->retries();
      std::string next;
      std::vector<Change> puts;
      int64_t wait = 0;
      TRY(ScanPage(*source, settings_.table, index, segments, start, false,
                   [&](const Page& page) -> Status {
                     next = page.next;
                     Add(&units_micro_, static_cast<int64_t>(page.read_units * 1e6));
                     wait = pace_.Spend(page.read_units);
                     ASSIGN_OR_RETURN(puts, PutsOf(page.items, source_.key, settings_.mask));
                     return OkStatus();
                   }));
      const auto items = static_cast<int64_t>(puts.size());
      int64_t bytes = 0;
      for (const Change& put : puts) bytes += static_cast<int64_t>(put.json.size());
      TRY(WriteInBatches(*target, settings_.table, std::move(puts),
                         [this](const Change& change, const std::string& message) {
                           return progress_->Refused(source_.key, change, message);
                         }));
      Add(&retries_, source->retries() + target->retries() - retries);
      Add(&copied_, items);
      Add(&bytes_, bytes);
      TRY(progress_->Update(next.empty(), [&](LiveState* state) {
        state->segments[index].start = next;
        state->segments[index].done = next.empty();
        state->items += items;
        state->bytes += bytes;
      }));
      if (next.empty()) return OkStatus();
      start = std::move(next);
      if (wait > 0 && !around_.pause(wait)) return OkStatus();
    }
  }

  static void Add(std::atomic<int64_t>* sum, int64_t more) {
    sum->fetch_add(more, std::memory_order_relaxed);
  }

  Counts Look() {
    Counts counts;
    counts.subject = settings_.table;
    counts.items = copied_.load();
    counts.bytes = bytes_.load();
    counts.retries = retries_.load();
    const LiveState state = progress_->state();
    counts.errors = state.errors;
    if (source_.items > 0) {
      const auto whole = static_cast<double>(source_.items);
      counts.done = std::min(1.0, static_cast<double>(state.items) / whole);
      counts.begun = std::min(1.0, static_cast<double>(begun_items_) / whole);
    }
    return counts;
  }

  LiveReport Report(bool whole) {
    const LiveState state = progress_->state();
    report_.whole = whole;
    report_.items = state.items;
    report_.records = state.records;
    report_.errors = state.errors;
    report_.errors_file = progress_->errors_path();
    report_.first_error = progress_->first_error();
    report_.copied = copied_.load();
    report_.bytes = bytes_.load();
    report_.read_units = units_micro_.load() / 1'000'000;
    if (!removed_) report_.progress_file = progress_->path();
    return std::move(report_);
  }

  const LiveSettings& settings_;
  const Surroundings& around_;
  Pace pace_;
  std::unique_ptr<api_client::Client> source_client_;
  std::unique_ptr<api_client::Client> target_client_;
  TableInfo source_;
  TableInfo target_;
  std::unique_ptr<LiveProgress> progress_;
  std::unique_ptr<Follower> follower_;
  int64_t checked_records_ = 0;  // that were applied when the comparison began
  bool removed_ = false;
  int64_t begun_items_ = 0;
  LiveReport report_;
  std::atomic<int64_t> units_micro_{0};
  std::atomic<int64_t> copied_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> retries_{0};
};

}  // namespace

Result<LiveReport> RunLive(const LiveSettings& settings, const Surroundings& around) {
  Live work(settings, around);
  return work.Run();
}

}  // namespace stator::bulk
