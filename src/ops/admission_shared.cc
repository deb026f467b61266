// Meters of one of several processes: what it is granted, and what it tells and hears.
#include <algorithm>
#include <cmath>

#include "ops/admission.h"

namespace stator::ops {
namespace {

using throughput::Meter;
using throughput::Rates;
using throughput::Units;

uint32_t TabletOf(const Admission::Resource& resource) {
  return resource.index != nullptr ? resource.index->tablet_id
                                   : resource.table->descriptor.tablet_id;
}

throughput::Halves HalvesOf(const Rates& units) {
  return {std::llround(2 * units.read), std::llround(2 * units.write)};
}

}  // namespace

void Admission::Share() {
  const MutexLock lock(mutex_);
  shared_ = true;
  grant_ = std::make_shared<throughput::Grant>();
}

bool Admission::Enforces() const {
  const MutexLock lock(mutex_);
  const auto enforces = [](const auto& table) {
    return table.second == throughput::Throttling::kEnforce;
  };
  return modes_.all == throughput::Throttling::kEnforce ||
         std::any_of(modes_.tables.begin(), modes_.tables.end(), enforces);
}

throughput::Use Admission::TakeUse(double seconds) {
  throughput::Use use;
  std::unordered_map<const Meter*, Rates> let_pass;
  for (const Resource& resource : Resources()) {
    Meter& meter = *resource.meter;
    std::optional<throughput::ResourceUse> its = meter.resource().TakeUse(seconds);
    const Rates now = meter.let_pass();
    const Rates before = let_pass_.try_emplace(&meter).first->second;
    let_pass[&meter] = now;
    const throughput::Halves passed = HalvesOf({now.read - before.read, now.write - before.write});
    if (!its && passed == throughput::Halves{}) continue;
    throughput::ResourceUse& told = use[TabletOf(resource)];
    if (its) told = std::move(*its);
    told.let_pass = passed;
  }
  let_pass_ = std::move(let_pass);
  return use;
}

std::map<uint32_t, Units> Admission::PutInForce(const throughput::Grant& grant,
                                                const std::map<uint32_t, Units>& moved) {
  const auto next = std::make_shared<const throughput::Grant>(grant);
  {
    // Versions of tables that come later go by it.
    const MutexLock lock(mutex_);
    grant_ = next;
  }
  std::map<uint32_t, Units> surrendered;
  const int64_t now = clock_.NowMicros();
  for (const Resource& resource : Resources()) {
    const uint32_t tablet = TabletOf(resource);
    const auto comes = moved.find(tablet);
    const Units left = resource.meter->resource().SetGrant(
        now, next, comes != moved.end() ? comes->second : Units{});
    if (left != Units{}) surrendered[tablet] = left;
  }
  return surrendered;
}

void Admission::EndGrant() {
  {
    const MutexLock lock(mutex_);
    grant_ = std::make_shared<const throughput::Grant>();
  }
  const int64_t now = clock_.NowMicros();
  for (const Resource& resource : Resources()) resource.meter->resource().EndGrant(now);
}

void Admission::SetDecides(bool decides) {
  if (decides_.exchange(decides) == decides) return;
  for (const Resource& resource : Resources()) {
    resource.meter->resource().SetDecides(decides);
    // What others have split and not stored.
    if (decides) resource.meter->SetSplitsPending();
  }
}

void Admission::AddForeign(const std::vector<std::pair<uint32_t, throughput::ResourceUse>>& used) {
  if (used.empty()) return;
  std::map<uint32_t, std::shared_ptr<Meter>> meters;
  for (const Resource& resource : Resources()) meters[TabletOf(resource)] = resource.meter;
  for (const auto& [tablet, use] : used) {
    const auto meter = meters.find(tablet);
    if (meter != meters.end()) meter->second->resource().AddForeign(use);
  }
}

std::map<uint32_t, throughput::SharedLimits> Admission::Limits() const {
  std::map<uint32_t, throughput::SharedLimits> limits;
  for (const Resource& resource : Resources())
    limits[TabletOf(resource)] = resource.meter->resource().Limits();
  return limits;
}

Admission::Decided Admission::Decisions() const {
  Decided decided;
  for (const Resource& resource : Resources()) {
    const throughput::Resource& model = resource.meter->resource();
    throughput::SharePlan::OfResource of{{}, model.InnerBounds()};
    const Rates ready = model.warm();
    const bool grown =
        model.billing() == throughput::Billing::kOnDemand &&
        (ready.read > model_.on_demand_read_units || ready.write > model_.on_demand_write_units);
    if (grown) of.ready = {ready.read, ready.write};
    if (grown || !of.bounds.empty()) decided[TabletOf(resource)] = std::move(of);
  }
  return decided;
}

void Admission::FollowDecisions(const Decided& decided) {
  if (decided.empty()) return;
  const int64_t now = clock_.NowMicros();
  for (const Resource& resource : Resources()) {
    const auto found = decided.find(TabletOf(resource));
    if (found == decided.end()) continue;
    throughput::Resource& model = resource.meter->resource();
    model.RaiseReady({found->second.ready[0], found->second.ready[1]});
    if (model.InnerBounds() == found->second.bounds) continue;
    for (const throughput::KeyBound& bound : found->second.bounds) {
      if (const auto split = model.Split(now, bound)) resource.meter->RecordSplits({*split});
    }
  }
}

void Admission::CountAgain() {
  for (const Resource& resource : Resources()) {
    if (const auto counts = CountOf(*resource.table, resource.index))
      resource.meter->resource().SetTotals(counts->bytes, counts->items);
  }
}

}  // namespace stator::ops
