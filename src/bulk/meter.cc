#include "bulk/meter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace stator::bulk {
namespace {

std::string DurationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds + 0.5, 359'999.0));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string WithSeparators(int64_t number) {
  std::string text = fmt::format("{}", number);
  const size_t begin = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > begin + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string BytesText(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} KB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

std::string ProgressText(const Counts& counts, int64_t elapsed_micros) {
  const double seconds = std::max(static_cast<double>(elapsed_micros) / 1e6, 1e-3);
  std::string text =
      fmt::format("{} items, {}, {} items/s, {}/s", WithSeparators(counts.items),
                  BytesText(static_cast<double>(counts.bytes)),
                  WithSeparators(static_cast<int64_t>(static_cast<double>(counts.items) / seconds)),
                  BytesText(static_cast<double>(counts.bytes) / seconds));
  if (counts.errors > 0) text += fmt::format(", {} errors", WithSeparators(counts.errors));
  if (counts.retries > 0) text += fmt::format(", {} retries", WithSeparators(counts.retries));
  const double progress = counts.done - counts.begun;
  if (progress > 0 && counts.done < 1)
    text += fmt::format(", {} left", DurationText(seconds * (1 - counts.done) / progress));
  if (!counts.note.empty()) text += ", " + counts.note;
  return counts.subject.empty() ? text : counts.subject + ": " + text;
}

Ticker::Ticker(const Clock& clock, bool quiet, std::function<Counts()> look)
    : clock_(clock),
      look_(std::move(look)),
      began_(clock.TicksMicros()),
      terminal_(isatty(STDERR_FILENO) != 0) {
  if (!quiet) thread_ = std::thread([this] { Loop(); });
}

void Ticker::Loop() {
  const auto pause = std::chrono::seconds(terminal_ ? 1 : 10);
  for (;;) {
    {
      std::unique_lock<Mutex> lock(mutex_);
      if (wake_.wait_for(lock, pause, [this]() NO_THREAD_SAFETY_ANALYSIS { return stopped_; }))
        return;
    }
    const std::string text = ProgressText(look_(), clock_.TicksMicros() - began_);
    fmt::print(stderr, "{}", terminal_ ? "\r\x1b[K" + text : text + "\n");
    std::fflush(stderr);
    shown_ = terminal_;
  }
}

void Ticker::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (std::exchange(shown_, false)) fmt::print(stderr, "\n");
}

}  // namespace stator::bulk
