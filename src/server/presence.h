// How clients find the servers of a store, and how they leave one before it stops.
//
// GET /localnodes answers with a JSON array of addresses, without scheme and port, in the form that
// the client libraries of ScyllaDB's Alternator ask for. It lists the living servers that do not
// drain: of the data centre of the one that answers, or of ?dc=, and of ?rack= if there is one.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/fleet.h"
#include "http/server.h"
#include "server/peers.h"
#include "server/presence_settings.h"

namespace stator::server {

// Returns the servers of `membership` as /localnodes lists them, in the order of their addresses.
std::string RenderLocalNodes(const fleet::Membership& membership, std::string_view datacenter,
                             const std::optional<std::string>& rack);

// Thread-safe. An operator drains a server by `stator cluster drain`, which sets DrainSetting of
// its id; a server that stops drains for --drain-time first.
class Presence {
 public:
  // `peers` is null if the store is this process's own; else it outlives the requests. `endpoint`
  // is AdvertisedEndpoint.
  Presence(const PresenceSettings& settings, std::string endpoint, Peers* peers);

  // Follows the operator's wish. Once, before Peers::Start.
  void Follow();
  // Drains from now on, whatever the operator wishes.
  void BeginStop();
  bool draining() const { return stopping_ || asked_; }
  // Returns kUnavailable with a sentence while the server drains.
  Status Ready() const;

  static bool Owns(std::string_view target) { return target.starts_with("/localnodes"); }
  http::Reply Answer(const http::Request& request) const;

 private:
  void Tell();
  // The servers of the store; this one alone without peers.
  fleet::Membership membership() const;

  const PresenceSettings settings_;
  const std::string endpoint_;
  Peers* const peers_;
  std::atomic<bool> asked_ = false;
  std::atomic<bool> stopping_ = false;
};

}  // namespace stator::server
