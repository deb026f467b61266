// The implementation of simulation_model.h; it has no tests of its own.
#include "kv_rados/simulation_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "kv_rados/routing.h"

namespace stator::kv_rados::simulation {
namespace {

using Kind = FakeStep::Kind;
using State = PartHeader::State;

std::string Attribute(const FakeObject& object, const char* name) {
  const auto found = object.attributes.find(name);
  return found == object.attributes.end() ? std::string() : found->second;
}

bool IsPart(const std::string& object) {
  return object != kStoreObject && object != kBulletinObject;
}

bool IsRangesOnly(const kv::Batch& batch) {
  return !batch.range_deletes.empty() && batch.puts.empty() && batch.deletes.empty() &&
         batch.adds.empty() && batch.guards.empty();
}

// The tablet of a batch that is not empty.
kv::Tablet TabletOf(const kv::Batch& batch) {
  if (!batch.guards.empty()) return batch.guards[0].tablet;
  if (!batch.range_deletes.empty()) return batch.range_deletes[0].tablet;
  if (!batch.puts.empty()) return batch.puts[0].tablet;
  if (!batch.deletes.empty()) return batch.deletes[0].tablet;
  return batch.adds[0].tablet;
}

// A batch that has counters only goes to the part with this route.
std::string FirstRouteOfRanges(const kv::Batch& batch) {
  for (const kv::DeleteRange& range : batch.range_deletes) {
    if (const auto routes = RoutesOfKeys(range.tablet.space, range.begin, range.end))
      return routes->begin;
  }
  return {};
}

bool IsIn(const kv::DeleteRange& range, std::string_view key) {
  return key >= range.begin && (range.end.empty() || key < range.end);
}

}  // namespace

std::string Shown(std::string_view bytes) {
  std::string shown;
  for (const char byte : bytes) {
    if (byte >= ' ' && byte < 127) {
      shown.push_back(byte);
    } else {
      shown += fmt::format("\\{:02x}", static_cast<uint8_t>(byte));
    }
  }
  if (shown.size() > 60) shown = shown.substr(0, 50) + fmt::format("...({})", bytes.size());
  return shown;
}

namespace {

std::string ShownValue(const std::optional<std::string>& value) {
  if (!value) return "nothing";
  return fmt::format("stamp {} and {}", kv::StampOf(*value),
                     Shown(std::string_view(*value).substr(kv::kStampBytes)));
}

}  // namespace

void Model::Fail(const std::string& what) {
  verdict_.Fail(fmt::format("at moment {}: {}", now_, what));
}

void Model::Trace(const std::string& what) const { fmt::print("{:>6}  {}\n", now_, what); }

// ---- batches ------------------------------------------------------------------------------------

SentPtr Model::Send(int process, const kv::Batch& batch) {
  auto sent = std::make_shared<Sent>();
  sent->serial = ++serials_[process];
  sent->process = process;
  sent->batch = batch;
  sent->began = now_;
  open_[process][sent->serial] = sent;
  all_.push_back(sent);
  return sent;
}

void Model::Finish(Sent& sent, const Result<uint64_t>& outcome) {
  if (sent.outcome) return Fail("a batch was answered twice");
  sent.outcome = outcome;
  open_[sent.process].erase(sent.serial);
  if (traces) {
    Trace(fmt::format("process {} batch {}: {}{}", sent.process, sent.serial,
                      outcome.ok() ? fmt::format("stamp {}", *outcome) : outcome.error().message(),
                      sent.ignored ? " (dead)" : ""));
  }
  if (sent.ignored) return;
  if (outcome.ok()) {
    if (sent.batch.empty()) return;
    if (sent.applied == 0) return Fail("an accepted batch was not applied");
    if (IsRangesOnly(sent.batch) ? *outcome < sent.stamp : *outcome != sent.stamp) {
      Fail(fmt::format("a batch was told stamp {} and applied with {}", *outcome, sent.stamp));
    }
    KnowWritten(sent);
    return;
  }
  const ErrorCode code = outcome.error().code();
  if (code == ErrorCode::kOutcomeUnknown) {
    ++unknown;
    unknown_applied += sent.applied > 0 ? 1 : 0;
    return;
  }
  if (sent.applied > 0)
    return Fail(fmt::format("a refused batch was applied: {}", outcome.error().message()));
  if (code == ErrorCode::kCorruption || code == ErrorCode::kInternal)
    return Fail(fmt::format("a batch was refused for {}", outcome.error().message()));
  if (code != ErrorCode::kGuardFailed) return;
  // One of its guards must have been false at some moment since it came.
  for (const kv::Guard& guard : sent.batch.guards) {
    if (guard.left_by != nullptr) return;
    const std::vector<Version>* history = HistoryOf(guard.tablet, guard.key);
    const auto stamp_of = [](const Version& version) {
      return version.value ? kv::StampOf(*version.value) : 0;
    };
    if (history == nullptr) {
      if (guard.stamp != 0) return;
      continue;
    }
    if (history->front().since > sent.began && guard.stamp != 0) return;
    for (size_t i = 0; i < history->size(); ++i) {
      const bool ended = i + 1 < history->size() && history->at(i + 1).since <= sent.began;
      if (!ended && stamp_of(history->at(i)) != guard.stamp) return;
    }
  }
  Fail("a batch was refused for guards that held");
}

void Model::Kill(int process) {
  for (const auto& [serial, sent] : open_[process]) sent->ignored = true;
}

void Model::OnSent(FakeCluster::Operation& operation) {
  if (!IsPart(operation.object)) return;
  std::optional<uint64_t> base, last;
  std::set<std::string> deleted;  // where ranges begin
  for (const FakeStep& step : *operation.steps) {
    const bool is_stamp = step.name == kStampAttribute;
    if (step.kind == Kind::kCompareAttribute && is_stamp) base = *DecodeStamp(step.value);
    if (step.kind == Kind::kSetAttribute && is_stamp) last = *DecodeStamp(step.value);
    if (step.kind == Kind::kRemoveRange) deleted.insert(step.name);
  }
  if (!base || !last) return;  // of a split, or of a fence
  const auto header_step =
      std::find_if(operation.steps->begin(), operation.steps->end(), [](const FakeStep& step) {
        return step.kind == Kind::kCompareAttribute && step.name == kHeaderAttribute;
      });
  if (header_step == operation.steps->end()) return Fail("a writer did not compare the header");
  const Result<PartHeader> header = DecodeHeader(header_step->value);
  if (!header.ok()) return Fail("a writer compared a damaged header");
  auto group = std::make_shared<Ledgered>();
  group->base = *base;
  group->last = *last;
  std::vector<SentPtr> ranges;
  for (const auto& [serial, sent] : open_[operation.process]) {
    const kv::Batch& batch = sent->batch;
    if (batch.empty() || TabletOf(batch) != header->tablet) continue;
    bool here = true, routed = false;
    ForEachRoute(batch, [&](kv::Tablet, std::optional<std::string_view> route) {
      routed = routed || route;
      here = here && (!route || header->routes.Has(*route));
    });
    if (!routed) here = header->routes.Has(FirstRouteOfRanges(batch));
    if (IsRangesOnly(batch)) {
      const kv::DeleteRange& mark = batch.range_deletes.back();
      if (deleted.contains(KeyCellRange(mark.begin, mark.end).begin)) ranges.push_back(sent);
      continue;
    }
    // Those of a group are older than those that wait behind it.
    const uint64_t stamp = sent->fate->stamp.load();
    if (!here || stamp <= *base || stamp > *last) continue;
    if (group->by_stamp.emplace(stamp, sent).second && kv::IsVoid(batch))
      Fail("a void batch was sent");
  }
  // The order within a group is that of Apply.
  auto next = ranges.begin();
  for (uint64_t stamp = *base + 1; stamp <= *last; ++stamp) {
    if (group->by_stamp.contains(stamp)) continue;
    if (next == ranges.end()) {
      return Fail(fmt::format("process {} sent stamp {} to {} for no batch", operation.process,
                              stamp, operation.object));
    }
    group->by_stamp.emplace(stamp, *next++);
  }
  operation.note = group;
}

void Model::OnApplied(const FakeCluster::Operation& operation) {
  ++now_;
  if (!IsPart(operation.object)) return;
  const FakeObject& object = *cluster_->objects.Find(operation.object);
  const Result<PartHeader> header = DecodeHeader(Attribute(object, kHeaderAttribute));
  if (!header.ok()) return Fail(operation.object + " has a damaged header");
  if (traces) {
    Trace(fmt::format("process {} changed {}: stamp {}, state {}, epoch {}, {} steps",
                      operation.process, operation.object,
                      DecodeStamp(Attribute(object, kStampAttribute)).value(),
                      static_cast<int>(header->state), header->epoch, operation.steps->size()));
  }
  if (const auto* group = static_cast<const Ledgered*>(operation.note.get()); group != nullptr)
    ApplyGroup(*header, *group);
  if (header->fence == kv::kDroppedFence) return;
  if (header->state != State::kFilling) CheckPart(operation.object, *header);
}

void Model::ApplyGroup(const PartHeader& header, const Ledgered& group) {
  ++groups;
  for (const auto& [stamp, sent] : group.by_stamp) ApplyBatch(*sent, stamp, header);
}

void Model::ApplyBatch(Sent& sent, uint64_t stamp, const PartHeader& header) {
  ++batches;
  const kv::Batch& batch = sent.batch;
  const bool several = IsRangesOnly(batch);
  if (sent.applied > 0 && !several) Fail("a batch was applied twice");
  if (sent.outcome && !sent.ignored) {
    if (sent.outcome->ok() || sent.outcome->error().code() != ErrorCode::kOutcomeUnknown)
      Fail("a batch was applied after it was answered");
    ++unknown_applied;
  }
  ++sent.applied;
  sent.stamp = std::max(sent.stamp, stamp);
  if (IsDropped(header.tablet)) Fail("a batch was applied to a dropped tablet");
  for (const kv::Fence& fence : batch.fences) {
    if (const auto raised = fences_.find(fence.tablet);
        raised != fences_.end() && raised->second > fence.most)
      Fail("a batch was applied under a fence that had been passed");
  }
  for (const kv::Guard& guard : batch.guards) {
    const uint64_t is = StampNow(guard.tablet, guard.key);
    if (is != guard.expected()) {
      Fail(fmt::format("a batch was applied with a guard of {} on {}, which had {}",
                       guard.expected(), Shown(guard.key), is));
    }
  }
  for (const kv::DeleteRange& range : batch.range_deletes) DeleteRange(range, header);
  for (const kv::Put& put : batch.puts) {
    std::string key = put.key, value = put.value;
    if (put.key_stamp_offset >= 0)
      kv::SetKeyStamp(&key, static_cast<size_t>(put.key_stamp_offset), stamp);
    kv::SetStamp(&value, stamp);
    if (const uint64_t before = StampNow(put.tablet, key); before >= stamp)
      Fail(fmt::format("a value of stamp {} was replaced by one of {}", before, stamp));
    Put(put.tablet, header.part, key, value);
  }
  for (const kv::Delete& gone : batch.deletes)
    Put(gone.tablet, header.part, gone.key, std::nullopt);
  for (const kv::Add& add : batch.adds) {
    std::optional<std::string> before = Value(add.tablet, add.key);
    if (!RouteOf(add.tablet.space, add.key)) {
      const auto& of_part = counters_[add.tablet][header.part];
      const auto found = of_part.find(add.key);
      before = found == of_part.end() ? std::nullopt : std::optional(found->second);
    }
    const int64_t count = before ? *kv::CounterOf(*before) : 0;
    Put(add.tablet, header.part, add.key, kv::EncodeCounter(stamp, count + add.delta));
  }
}

void Model::DeleteRange(const kv::DeleteRange& range, const PartHeader& header) {
  if (!range.end.empty() && range.begin >= range.end) return;
  std::vector<std::string> gone;
  for (const auto& [key, value] : now_of_[range.tablet]) {
    const std::optional<std::string_view> route = RouteOf(range.tablet.space, key);
    if (IsIn(range, key) && header.routes.Has(*route)) gone.push_back(key);
  }
  for (const auto& [key, value] : counters_[range.tablet][header.part]) {
    if (IsIn(range, key)) gone.push_back(key);
  }
  for (const std::string& key : gone) Put(range.tablet, header.part, key, std::nullopt);
}

void Model::Put(kv::Tablet tablet, uint32_t part, const std::string& key,
                std::optional<std::string> value) {
  const bool routed = RouteOf(tablet.space, key).has_value();
  auto& now = routed ? now_of_[tablet] : counters_[tablet][part];
  if (value) {
    now[key] = *value;
  } else {
    now.erase(key);
  }
  if (routed) history_[tablet][key].push_back({now_, std::move(value)});
}

std::optional<std::string> Model::Value(kv::Tablet tablet, const std::string& key) const {
  const auto now = now_of_.find(tablet);
  if (now == now_of_.end()) return std::nullopt;
  const auto found = now->second.find(key);
  return found == now->second.end() ? std::nullopt : std::optional(found->second);
}

uint64_t Model::StampNow(kv::Tablet tablet, const std::string& key) const {
  const std::optional<std::string> value = Value(tablet, key);
  return value ? kv::StampOf(*value) : 0;
}

// ---- objects ------------------------------------------------------------------------------------

void Model::CheckPart(const std::string& name, const PartHeader& header) {
  if (!verdict_.ok()) return;
  const FakeObject& object = *cluster_->objects.Find(name);
  std::map<std::string, std::string> has;
  std::set<std::string> forward, reverse;
  Amount amount;
  for (const auto& [cell, stored] : object.keys) {
    if (cell[0] != kKeyCell && cell[0] != kReverseCell) continue;
    const Result<std::string> key = KeyOfCell(cell);
    if (!key.ok()) return Fail(name + " has a damaged cell");
    if (cell[0] == kReverseCell) {
      reverse.insert(*key);
      continue;
    }
    forward.insert(*key);
    const std::optional<std::string_view> route = RouteOf(header.tablet.space, *key);
    if (route && !header.routes.Has(*route)) continue;
    const Result<std::string> value = LoadedValue(stored);
    if (!value.ok()) return Fail(name + " has a damaged value");
    has[*key] = *value;
    amount.bytes += StoredCellBytes(cell.size(), stored.size());
    ++amount.keys;
  }
  if (forward != reverse) return Fail(name + " has other keys in reverse");
  std::map<std::string, std::string> wanted;
  for (const auto& [key, value] : now_of_[header.tablet]) {
    if (header.routes.Has(*RouteOf(header.tablet.space, key))) wanted[key] = value;
  }
  for (const auto& [key, value] : counters_[header.tablet][header.part]) wanted[key] = value;
  if (has != wanted) {
    for (const auto& [key, value] : wanted) {
      const auto found = has.find(key);
      if (found == has.end() || found->second != value) {
        return Fail(fmt::format(
            "{} has {} of {}, which is {}", name,
            ShownValue(found == has.end() ? std::nullopt : std::optional(found->second)),
            Shown(key), ShownValue(std::optional(value))));
      }
    }
    for (const auto& [key, value] : has) {
      if (!wanted.contains(key)) {
        return Fail(fmt::format("{} has {} of {}, which is gone", name,
                                ShownValue(std::optional(value)), Shown(key)));
      }
    }
  }
  // The last step of a split corrects what was counted when the routes were given up.
  const bool alone = serials_.size() < 2 && cluster_->applied_late == 0;
  if ((counts_meanwhile && !alone) || header.state == State::kLeaving) return;
  const Result<PartSize> size = DecodeSize(Attribute(object, kSizeAttribute));
  if (!size.ok()) return Fail(name + " has a damaged size");
  const int64_t off =
      static_cast<int64_t>(size->bytes) - static_cast<int64_t>(header.given.bytes + amount.bytes);
  if (size->unsure == 0 && size->keys != header.given.keys + amount.keys) {
    Fail(fmt::format("{} has {} keys beside {} given away, and says {}", name, amount.keys,
                     header.given.keys, size->keys));
  }
  if (static_cast<uint64_t>(std::abs(off)) > value_ratio * size->unsure) {
    Fail(fmt::format("{} has {} bytes beside {} given away, and says {} (unsure {})", name,
                     amount.bytes, header.given.bytes, size->bytes, size->unsure));
  }
}

std::string Model::Unsettled() const {
  for (const auto& [name, object] : cluster_->objects.all()) {
    if (!IsPart(name)) continue;
    const Result<PartHeader> header = DecodeHeader(Attribute(object, kHeaderAttribute));
    if (!header.ok()) return name + " has a damaged header";
    if (header->fence == kv::kDroppedFence || IsDropped(header->tablet)) continue;
    if (header->state != State::kOpen)
      return fmt::format("{} is in state {}", name, static_cast<int>(header->state));
    for (const auto& [cell, stored] : object.keys) {
      if (cell[0] == kMarkCell || cell[0] == kRangeMarkCell) return name + " has marks left";
      if (cell[0] != kKeyCell) continue;
      const std::string key = KeyOfCell(cell).value();
      const std::optional<std::string_view> route = RouteOf(header->tablet.space, key);
      if (route && !header->routes.Has(*route)) return name + " has what it gave away";
    }
  }
  return {};
}

void Model::CheckEnd() {
  for (const SentPtr& sent : all_) {
    if (!sent->outcome) Fail("a batch was never answered");
    if (sent->outcome && sent->outcome->ok() && !sent->ignored && sent->applied == 0 &&
        !sent->batch.empty())
      Fail("an accepted batch was not applied");
  }
  if (const std::string what = Unsettled(); !what.empty()) Fail(what);
  std::map<kv::Tablet, std::map<std::string, std::string>> parts;  // by begin: end
  for (const auto& [name, object] : cluster_->objects.all()) {
    if (!IsPart(name)) continue;
    const Result<PartHeader> header = DecodeHeader(Attribute(object, kHeaderAttribute));
    if (!header.ok()) return Fail(name + " has a damaged header");
    if (IsDropped(header->tablet)) {
      const auto left = object.keys.lower_bound(std::string(1, kKeyCell));
      if (left != object.keys.end() && left->first[0] == kKeyCell)
        Fail(name + " was dropped and still has keys");
    }
    if (header->fence == kv::kDroppedFence || IsDropped(header->tablet)) continue;
    CheckPart(name, *header);
    if (const auto raised = fences_.find(header->tablet);
        raised != fences_.end() && header->fence < raised->second)
      Fail(name + " has a lower fence than was raised");
    if (!parts[header->tablet].emplace(header->routes.begin, header->routes.end).second)
      Fail("two parts begin at one route");
  }
  const FakeObject* store = cluster_->objects.Find(kStoreObject);
  for (const auto& [tablet, by_begin] : parts) {
    std::string from;
    const auto named = store->keys.find(TabletName(tablet));
    if (named == store->keys.end()) {
      if (!now_of_[tablet].empty()) Fail("the map has no entry of a tablet");
      continue;
    }
    const Result<MapEntry> entry = DecodeMapEntry(named->second);
    for (const auto& [begin, end] : by_begin) {
      if (begin != from) Fail("the parts of a tablet do not meet");
      if (!entry.ok() || !entry->parts.contains(begin)) Fail("the map lacks a part");
      from = end;
    }
    if (!from.empty()) Fail("no part holds the last routes");
  }
}

// ---- reads --------------------------------------------------------------------------------------

const std::vector<Model::Version>* Model::HistoryOf(kv::Tablet tablet,
                                                    const std::string& key) const {
  const auto of_tablet = history_.find(tablet);
  if (of_tablet == history_.end()) return nullptr;
  const auto found = of_tablet->second.find(key);
  return found == of_tablet->second.end() ? nullptr : &found->second;
}

std::optional<Model::Moment> Model::Holds(kv::Tablet tablet, const std::string& key,
                                          const std::optional<std::string>& value,
                                          Moment from) const {
  const std::vector<Version>* history = HistoryOf(tablet, key);
  const Moment first = history == nullptr ? UINT64_MAX : history->front().since;
  if (!value && first > from) return from;
  if (history == nullptr) return std::nullopt;
  for (size_t i = 0; i < history->size(); ++i) {
    // Several versions of one moment come from one group; only the last can be seen.
    const Moment since = history->at(i).since;
    const Moment until = i + 1 < history->size() ? history->at(i + 1).since : UINT64_MAX;
    if (until <= from || until == since) continue;
    if (history->at(i).value == value) return std::max(since, from);
  }
  return std::nullopt;
}

void Model::CheckRead(Moment since, kv::Tablet tablet, const std::vector<std::string>& keys,
                      const std::vector<std::optional<std::string>>& values) {
  // The earliest moment at which all hold: whenever one is too early, go on from where it holds.
  Moment at = since;
  for (size_t i = 0; i < keys.size();) {
    if (!RouteOf(tablet.space, keys[i])) {
      ++i;
      continue;
    }
    const std::optional<Moment> holds = Holds(tablet, keys[i], values[i], at);
    if (!holds || *holds > now_) {
      return Fail(fmt::format("a read since moment {} found {} of {}, which is {}", since,
                              ShownValue(values[i]), Shown(keys[i]),
                              ShownValue(Value(tablet, keys[i]))));
    }
    if (*holds == at) {
      ++i;
    } else {
      at = *holds;
      i = 0;
    }
  }
}

void Model::KnowWritten(const Sent& sent) {
  for (const kv::Put& put : sent.batch.puts) {
    const std::vector<Version>* history = HistoryOf(put.tablet, put.key);
    if (put.key_stamp_offset >= 0 || history == nullptr) continue;
    for (const Version& version : *history) {
      if (!version.value || kv::StampOf(*version.value) != sent.stamp) continue;
      Moment& known = known_[{sent.process, put.tablet, put.key}];
      known = std::max(known, version.since);
    }
  }
  for (const kv::Delete& gone : sent.batch.deletes)
    Answered(sent.process, sent.began, gone.tablet, gone.key, std::nullopt);
}

void Model::Passed(int64_t ticks) { passed_[ticks] = now_; }

void Model::Answered(int process, Moment since, kv::Tablet tablet, const std::string& key,
                     const std::optional<std::string>& value) {
  const std::optional<Moment> holds = Holds(tablet, key, value, since);
  if (!holds) return;
  Moment& known = known_[{process, tablet, key}];
  known = std::max(known, *holds);
}

Model::Moment Model::RecentSince(int process, int64_t ticks, int64_t most_micros, kv::Tablet tablet,
                                 const std::string& key) {
  const auto later = passed_.upper_bound(ticks - most_micros);
  const Moment oldest = later == passed_.begin() ? 0 : std::prev(later)->second;
  return std::max(oldest, known_[{process, tablet, key}]);
}

void Model::CheckRecent(Moment since, kv::Tablet tablet, const std::string& key,
                        const std::optional<std::string>& value) {
  const std::vector<Version>* history = HistoryOf(tablet, key);
  const bool between =
      history != nullptr && std::any_of(history->begin(), history->end(), [&](const Version& each) {
        return each.since >= since && each.value == value;
      });
  if (!between) CheckRead(since, tablet, {key}, {value});
}

void Model::CheckStale(kv::Tablet tablet, const std::string& key,
                       const std::optional<std::string>& value) {
  if (!RouteOf(tablet.space, key) || Holds(tablet, key, value, 0)) return;
  Fail(fmt::format("a remembered value of {} is {}, which it never was", Shown(key),
                   ShownValue(value)));
}

void Model::CheckScan(Moment since, const kv::Range& range, const std::vector<Visited>& visited,
                      bool stopped, bool one_after_the_other) {
  std::map<std::string, std::optional<std::string>> seen;
  for (size_t i = 0; i < visited.size(); ++i) {
    const std::string& key = visited[i].key;
    const bool inside = key >= range.begin && (range.end.empty() || key < range.end);
    const bool ordered =
        i == 0 || (range.reverse ? key < visited[i - 1].key : key > visited[i - 1].key);
    if (!inside || !ordered) return Fail("a scan visited " + Shown(key) + " out of order");
    if (RouteOf(range.tablet.space, key)) seen[key] = visited[i].value;
  }
  for (const auto& [key, versions] : history_[range.tablet]) {
    if (key < range.begin || (!range.end.empty() && key >= range.end)) continue;
    if (stopped &&
        (visited.empty() || (range.reverse ? key < visited.back().key : key > visited.back().key)))
      continue;
    seen.emplace(key, std::nullopt);
  }
  std::vector<std::pair<std::string, std::optional<std::string>>> order(seen.begin(), seen.end());
  if (range.reverse) std::reverse(order.begin(), order.end());
  Moment at = since;
  for (const auto& [key, value] : order) {
    const std::optional<Moment> holds = Holds(range.tablet, key, value, at);
    if (!holds || *holds > now_) {
      return Fail(fmt::format("a scan since moment {} ({}) found {} of {}, which is {}", since, at,
                              ShownValue(value), Shown(key), ShownValue(Value(range.tablet, key))));
    }
    if (one_after_the_other) at = *holds;
  }
}

void Model::CheckCounter(kv::Tablet tablet, const std::string& key, int64_t count) {
  int64_t sum = 0;
  for (const auto& [part, values] : counters_[tablet]) {
    if (const auto found = values.find(key); found != values.end())
      sum += *kv::CounterOf(found->second);
  }
  if (sum != count) Fail(fmt::format("a counter reads {} and is {}", count, sum));
}

void Model::RaisedFence(kv::Tablet tablet, uint64_t fence) {
  fences_[tablet] = std::max(fences_[tablet], fence);
}

bool Model::IsDropped(kv::Tablet tablet) const {
  const auto found = fences_.find(tablet);
  return found != fences_.end() && found->second == kv::kDroppedFence;
}

}  // namespace stator::kv_rados::simulation
