#include "management/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json_writer.h"
#include "base/time_text.h"
#include "ops/refusal_text.h"
#include "throughput/cause.h"
#include "throughput/meter.h"

namespace stator::management {
namespace {

using table::BillingMode;
using table::IndexDescriptor;
using table::TableDescriptor;
using throughput::Access;
using throughput::Limit;
using Resource = ops::Admission::Resource;

constexpr size_t kLongestText = 1000;
// Demands that differ by less than that are told as one.
constexpr double kClose = 0.97;

size_t BytesOf(const Event& event) {
  size_t bytes = sizeof(Event) + event.table.size() + event.index.size() + event.text.size();
  if (event.throttled) {
    for (const std::string& sentence : event.throttled->advice)
      bytes += sizeof(std::string) + sentence.size();
  }
  return bytes;
}

// Not inside a character of UTF-8.
void Cut(std::string* text) {
  if (text->size() <= kLongestText) return;
  size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>((*text)[end]) & 0xC0) == 0x80) --end;
  text->resize(end);
  *text += "...";
}

std::string CapacityText(BillingMode mode, int64_t read, int64_t write) {
  return mode == BillingMode::kPayPerRequest
             ? std::string("on demand")
             : fmt::format("{} read and {} write units", read, write);
}

uint32_t TabletOf(const Resource& resource) {
  return resource.index != nullptr ? resource.index->tablet_id
                                   : resource.table->descriptor.tablet_id;
}

void Write(const Event& event, JsonWriter* json) {
  const auto text_or_null = [json](std::string_view name, const std::string& text) {
    json->Key(name);
    text.empty() ? json->Null() : json->Text(text);
  };
  json->Open('{').Key("seq").Whole(event.seq).Field("at", FormatTime(event.at_micros));
  json->Field("kind", event.kind);
  text_or_null("table", event.table);
  text_or_null("index", event.index);
  json->Field("text", event.text);
  if (event.hash) json->Field("hash", fmt::format("{:016x}", *event.hash));
  if (event.throttled) {
    const Event::Throttled& t = *event.throttled;
    json->Field("reason", t.reason).Key("requests").Whole(t.requests);
    json->Field("since", FormatTime(t.since_micros)).Key("allRequests").Whole(t.all_requests);
    json->Key("partition").Whole(static_cast<int64_t>(t.partition));
    json->Field("limit", t.limit).Field("demand", t.demand);
    text_or_null("key", t.key);
    json->Key("advice").Open('[');
    for (const std::string& sentence : t.advice) json->Text(sentence);
    json->Close(']').Key("passed").Bool(t.passed);
  }
  json->Close('}');
}

}  // namespace

void Events::Listen() {
  environment_.admission.Watch([this](const ops::Admission::Usage& usage) { OnUsage(usage); });
  environment_.admission.WatchRefusals(
      [this](const ops::Admission::Refusals& refused) { OnRefusals(refused); });
}

void Events::Add(Event event) {
  // Dates of the machine, so that numbers rise across restarts.
  if (seq_ == 0) seq_ = SystemClock().NowMicros();
  event.seq = ++seq_;
  if (event.at_micros == 0) event.at_micros = environment_.clock.NowMicros();
  Cut(&event.text);
  Kept& kept = event.throttled ? throttled_ : others_;
  kept.bytes += BytesOf(event);
  kept.events.push_back(std::move(event));
  while (kept.events.size() > kMostEvents || kept.bytes > kMostBytes) {
    kept.bytes -= BytesOf(kept.events.front());
    kept.events.pop_front();
  }
}

void Events::Continue(int64_t seq) {
  std::deque<Event>& events = throttled_.events;
  const auto found =
      std::lower_bound(events.begin(), events.end(), seq,
                       [](const Event& event, int64_t wanted) { return event.seq < wanted; });
  if (found != events.end() && found->seq == seq) found->continued = true;
}

// Notes the demand of each partition. Called before the model closes the second, while it still has
// the second's counts.
void Events::NoteDemand(const ops::Admission::Usage& usage, Told* told) {
  const double seconds =
      std::max(1.0, static_cast<double>(usage.to_micros - usage.from_micros) / 1e6);
  const throughput::Resource& model = usage.resource.meter->resource();
  for (const Access access : {Access::kRead, Access::kWrite}) {
    const size_t a = static_cast<size_t>(access);
    // Refused units include those that were let pass.
    double all = usage.consumed.Of(access);
    for (const throughput::Rates& refused : usage.refused) all += refused.Of(access);
    for (size_t l = 0; l < throughput::kLimits; ++l) {
      if (usage.refused_requests[a][l] == 0) continue;
      Told::Going& going = told->going[a][l];
      if (all / seconds <= going.demand) continue;
      going.demand = all / seconds;
      if (static_cast<Limit>(l) == Limit::kKeyRange)
        going.why = model.Busiest(usage.to_micros, access, 0);
    }
  }
}

void Events::Note(std::string_view kind, std::string text) {
  const MutexLock lock(mutex_);
  Event event;
  event.kind = kind;
  event.text = std::move(text);
  Add(std::move(event));
}

Events::Told& Events::ToldOf(const Resource& resource) { return told_[TabletOf(resource)]; }

void Events::NoteSplits(const Resource& resource, Told* told) {
  const size_t partitions = resource.meter->resource().partition_count();
  if (partitions == told->partitions) return;
  told->partitions = partitions;
  for (const throughput::SplitEvent& split : resource.meter->splits()) {
    if (split.left <= told->last_split) continue;
    told->last_split = split.left;
    Event event;
    event.at_micros = split.at_micros;
    event.kind = "split";
    event.table = resource.table->descriptor.name;
    if (resource.index != nullptr) event.index = resource.index->name;
    event.text = fmt::format("Partition {} was split into {} and {}: {}", split.parent, split.left,
                             split.right, throughput::SplitReasonText(split.reason));
    event.hash = split.bound.hash;
    Add(std::move(event));
  }
}

void Events::OnUsage(const ops::Admission::Usage& usage) {
  const Resource& resource = usage.resource;
  const MutexLock lock(mutex_);
  Told& told = ToldOf(resource);
  NoteSplits(resource, &told);
  NoteDemand(usage, &told);
}

void Events::OnRefusals(const ops::Admission::Refusals& refused) {
  const Resource& resource = refused.resource;
  const throughput::Meter& meter = *resource.meter;
  // It is told again when its second has ended.
  if (refused.why.so_far) return;
  const MutexLock lock(mutex_);
  Told& told = ToldOf(resource);
  const size_t a = static_cast<size_t>(refused.access), l = static_cast<size_t>(refused.limit);
  int64_t& known = told.refusals[a][l];
  const int64_t refusals = meter.refusals(refused.access, refused.limit);
  const int64_t requests = refusals - std::exchange(known, refusals);
  if (requests <= 0) return;
  const bool passed = meter.mode() != throughput::Throttling::kEnforce;
  const throughput::Explanation& worst = refused.why;
  Event event;
  // Date the event by the worst second, if it is new: a manual clock may have been moved far since
  // the refusals.
  const int64_t before = std::exchange(told.told_micros[a][l], refused.now_micros);
  event.at_micros =
      worst.at_micros > before ? std::min(worst.at_micros, refused.now_micros) : refused.now_micros;
  event.kind = "throttled";
  event.table = resource.table->descriptor.name;
  if (resource.index != nullptr) event.index = resource.index->name;

  // The account is of the worst second of a day, the event of the time since the one before it.
  Told::Going& going = told.going[a][l];
  const double demand = std::exchange(going.demand, 0);
  throughput::Explanation why = worst;
  if (const auto own = std::exchange(going.why, std::nullopt);
      own && own->demand < kClose * worst.demand) {
    why = *own;
  } else if (refused.limit != Limit::kKeyRange && demand > 0 && demand < kClose * worst.demand) {
    why.demand = std::max(demand, worst.granted);
  }
  why.so_far = false;
  why.cause = throughput::CauseText(why, refused.access, refused.limit);
  // The advice is for the busiest second.
  if (refused.limit != Limit::kKeyRange && why.demand < kClose * worst.demand) {
    why.cause +=
        fmt::format(" ({} in its busiest second)", throughput::UnitsText(std::round(worst.demand)));
  }
  event.text = ops::RefusalText(why);

  if (going.seq == 0 || passed != going.passed ||
      event.at_micros - going.last_micros > kPauseMicros) {
    going.since_micros = event.at_micros;
    going.requests = 0;
  } else {
    Continue(going.seq);
  }
  going.last_micros = event.at_micros;
  going.passed = passed;
  going.requests += requests;
  event.throttled =
      Event::Throttled{.reason = std::string(worst.reason),
                       .requests = requests,
                       .since_micros = going.since_micros,
                       .all_requests = going.requests,
                       .partition = why.partition,
                       .limit = why.limit,
                       .demand = why.demand,
                       .key = why.hottest.empty() ? std::string() : why.hottest[0].partition,
                       .advice = why.advice,
                       .passed = passed};
  Add(std::move(event));
  going.seq = seq_;
}

void Events::NoteChanges(const TableDescriptor& before, const TableDescriptor& now) {
  const auto note = [&](std::string text, const std::string& index = {}, int64_t at_micros = 0)
                        REQUIRES(mutex_) {
                          Event event;
                          event.at_micros = at_micros;
                          event.kind = "altered";
                          event.table = now.name;
                          event.index = index;
                          event.text = std::move(text);
                          Add(std::move(event));
                        };
  // When capacity was changed last, which may have been before a manual clock was moved.
  const auto changed = [](const auto& of) {
    return std::max(of.last_increase_micros, of.last_decrease_micros);
  };
  const auto capacity = [](const auto& of, BillingMode mode) {
    return CapacityText(mode, of.read_units, of.write_units);
  };
  const std::string was = capacity(before, before.billing_mode);
  const std::string is = capacity(now, now.billing_mode);
  if (was != is) {
    const bool newer = changed(now) > changed(before);
    note(fmt::format("The table has {} now; it had {}", is, was), {}, newer ? changed(now) : 0);
  }
  for (const IndexDescriptor& index : now.indexes) {
    const IndexDescriptor* const old = before.FindIndex(index.name);
    if (old == nullptr) {
      note("The index is being built", index.name);
      continue;
    }
    if (old->state != index.state) {
      note(index.state == IndexDescriptor::State::kActive ? "The index is built"
                                                          : "The index is being deleted",
           index.name);
    }
    const std::string had = capacity(old->throughput, before.billing_mode);
    const std::string has = capacity(index.throughput, now.billing_mode);
    if (index.is_global() && had != has && was == is)
      note(fmt::format("The index has {} now; it had {}", has, had), index.name);
  }
  for (const IndexDescriptor& index : before.indexes) {
    if (now.FindIndex(index.name) == nullptr) note("The index is gone", index.name);
  }
  if (before.stream_view_type != now.stream_view_type)
    note(now.stream_view_type ? "The stream is on" : "The stream is off");
  if (before.HasTimeToLive() != now.HasTimeToLive()) {
    note(now.HasTimeToLive()
             ? fmt::format("Time to live is on, by the attribute {}", now.expiry->attribute)
             : std::string("Time to live is off"));
  }
}

void Events::NoteTable(std::string_view kind, const std::string& name, std::string text,
                       int64_t at_micros) {
  Event event;
  event.at_micros = at_micros;
  event.kind = kind;
  event.table = name;
  event.text = std::move(text);
  Add(std::move(event));
}

void Events::Look() {
  std::vector<table::TablePtr> tables = environment_.store.List();
  const MutexLock lock(mutex_);
  if (looked_ && tables == known_) return;
  const bool silent = !std::exchange(looked_, true);
  const std::vector<table::TablePtr> before = std::exchange(known_, std::move(tables));
  if (silent) return;
  // Both are by name.
  auto old = before.begin();
  auto now = known_.begin();
  while (old != before.end() || now != known_.end()) {
    const int order = old == before.end() ? 1
                      : now == known_.end()
                          ? -1
                          : (*old)->descriptor.name.compare((*now)->descriptor.name);
    const bool replaced = order == 0 && (*old)->descriptor.table_id != (*now)->descriptor.table_id;
    if (order < 0 || replaced) {
      const TableDescriptor& gone = (*old)->descriptor;
      NoteTable("dropped", gone.name, fmt::format("Table {} was deleted", gone.name));
      told_.erase(gone.tablet_id);
      for (const IndexDescriptor& index : gone.indexes) {
        if (index.is_global()) told_.erase(index.tablet_id);
      }
    }
    if (order > 0 || replaced) {
      NoteTable("created", (*now)->descriptor.name,
                fmt::format("Table {} was created", (*now)->descriptor.name),
                (*now)->descriptor.created_micros);
    }
    if (order == 0 && !replaced && *old != *now) {
      NoteChanges((*old)->descriptor, (*now)->descriptor);
      for (const Resource& resource : environment_.admission.ResourcesOf((*now)->descriptor.name)) {
        NoteSplits(resource, &ToldOf(resource));
      }
    }
    if (order <= 0) ++old;
    if (order >= 0) ++now;
  }
}

int64_t Events::seq() const {
  const MutexLock lock(mutex_);
  return seq_;
}

std::string Events::Since(int64_t since, const std::optional<std::string>& table, int64_t limit,
                          bool brief) const {
  const MutexLock lock(mutex_);
  std::vector<const Event*> found;
  // The newest of both, from the newest on.
  auto throttled = throttled_.events.rbegin();
  auto other = others_.events.rbegin();
  while (static_cast<int64_t>(found.size()) < limit) {
    const bool no_throttled = throttled == throttled_.events.rend();
    const bool no_other = other == others_.events.rend();
    if (no_throttled && no_other) break;
    const bool from_throttled = no_other || (!no_throttled && throttled->seq > other->seq);
    const Event& event = from_throttled ? *throttled++ : *other++;
    if (event.seq <= since) break;
    if (brief && event.continued) continue;
    if (!table || event.table == *table) found.push_back(&event);
  }
  JsonWriter json;
  json.Open('{').Key("seq").Whole(seq_).Key("events").Open('[');
  for (auto at = found.rbegin(); at != found.rend(); ++at) Write(**at, &json);
  json.Close(']').Close('}');
  return json.Take();
}

}  // namespace stator::management
