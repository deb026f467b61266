#include "server/presence.h"

#include <set>
#include <utility>

#include "base/log.h"
#include "management/reply.h"
#include "management/routes.h"
#include "server/report_json.h"

namespace stator::server {
namespace {

constexpr std::string_view kPath = "/localnodes";

}  // namespace

std::string RenderLocalNodes(const fleet::Membership& membership, std::string_view datacenter,
                             const std::optional<std::string>& rack) {
  std::set<std::string> addresses;
  for (const auto& [id, member] : membership.members) {
    const fleet::Beat& beat = member.beat;
    if (!member.alive || beat.draining.value_or(false) || beat.datacenter != datacenter) continue;
    if (rack && beat.rack != *rack) continue;
    addresses.insert(AddressOf(beat.endpoint));
  }
  return Array(addresses, Quoted);
}

Presence::Presence(const PresenceSettings& settings, std::string endpoint, Peers* peers)
    : settings_(settings), endpoint_(std::move(endpoint)), peers_(peers) {}

void Presence::Follow() {
  if (peers_ == nullptr) return;
  peers_->settings().Follow(
      fleet::DrainSetting(peers_->id()),
      [this](const std::string&, const std::optional<std::string>& text) {
        if (asked_.exchange(text.has_value()) == text.has_value()) return;
        LogInfo("draining", {{"by", "operator"}, {"draining", text.has_value()}});
        Tell();
      });
}

void Presence::BeginStop() {
  stopping_ = true;
  Tell();
}

void Presence::Tell() {
  if (peers_ != nullptr) peers_->fleet().SetDraining(draining());
}

Status Presence::Ready() const {
  if (!draining()) return OkStatus();
  return Error(ErrorCode::kUnavailable, stopping_
                                            ? "The server drains and will stop: go to another one."
                                            : "An operator drains this server: go to another one.");
}

fleet::Membership Presence::membership() const {
  if (peers_ != nullptr) return peers_->fleet().membership();
  fleet::Member self;
  self.beat.endpoint = endpoint_;
  self.beat.datacenter = settings_.datacenter;
  self.beat.rack = settings_.rack;
  self.beat.draining = draining();
  fleet::Membership alone;
  alone.members.emplace(self.id, std::move(self));
  return alone;
}

http::Reply Presence::Answer(const http::Request& request) const {
  const management::Call call = management::CallOf(request);
  if (call.path != kPath) return management::Message(404, "There is no such page");
  if (call.method != "GET" && call.method != "HEAD") {
    http::Reply reply = management::Message(405, "This call is made with GET");
    reply.headers.emplace_back("Allow", "GET");
    return reply;
  }
  const std::string datacenter =
      management::Parameter(call.query, "dc").value_or(settings_.datacenter);
  return management::Json(
      200, RenderLocalNodes(membership(), datacenter, management::Parameter(call.query, "rack")));
}

}  // namespace stator::server
