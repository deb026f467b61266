// Hands writes over to the server that writes their part, and runs those that others
// hand over (docs/adr/0024-one-writer-many-doors.md). Where several processes serve a Ceph pool.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "api/forwarding.h"
#include "api/service.h"
#include "base/clock.h"
#include "http/loop.h"
#include "kv/engine.h"
#include "link/hub.h"
#include "link/ownership.h"
#include "server/peers.h"
#include "server/presence_settings.h"

namespace stator::server {

// Thread-safe, but for Start and Stop.
class WriteLinks final : public api::Forwarding {
 public:
  // Binds the port to which the other processes connect. kUnavailable with a sentence if that
  // fails.
  static Result<std::unique_ptr<WriteLinks>> Listen(const PresenceSettings& settings,
                                                    const std::vector<std::string>& hosts);
  ~WriteLinks() override { Stop(); }

  // Returns the text for the beat of this process (fleet::Beat::link). `endpoint` is
  // AdvertisedEndpoint.
  std::string AddressFor(std::string_view endpoint) const;

  // Begins to connect. `store_secret` is StoreSecret. All others outlive this object. Forwards
  // nothing if the engine is none of transactions on a Ceph pool.
  Status Start(api::Service& service, kv::Engine& engine, Peers& peers, const Clock& clock,
               std::string_view store_secret);
  // Takes over who lives now. About once a second; may wait for names to be resolved.
  void Follow();
  // Runs nothing for others from now on.
  void BeginStop();
  // When no request is under way, and before the engine stops. Waits for what runs for others.
  // Idempotent.
  void Stop();

  api::WriteOwner OwnerOf(std::span<const ops::WrittenItem> items) override;
  bool Send(const api::WriteOwner& owner, std::span<const ops::WrittenItem> items,
            std::string_view operation, std::string_view body, api::ForwardedDone& done) override;

  // Gauges for /metrics, by name.
  std::map<std::string, double> Statistics() const;

 private:
  explicit WriteLinks(const PresenceSettings& settings) : settings_(settings) {}
  // kWouldBlock if the part is not known from memory.
  Result<kv::Unit> UnitOf(const ops::WrittenItem& item) const;
  // Lists in this process's beat those of `peers` that should be reachable but have not been
  // reached for a while.
  void TellUnreached(const std::vector<link::Peer>& peers, const std::vector<std::string>& warm);
  void Serve(const std::string& asker, std::string request, kv::FatePtr permit,
             link::Hub::Reply reply);

  const PresenceSettings settings_;
  std::vector<http::UniqueFd> listening_;
  uint16_t port_ = 0;
  access::SystemSecureRandom random_;
  api::Service* service_ = nullptr;
  kv::Engine* engine_ = nullptr;
  kv::Engine* writer_ = nullptr;  // the engine that has the hooks
  Peers* peers_ = nullptr;
  const Clock* clock_ = nullptr;
  std::unique_ptr<link::Ownership> ownership_;
  std::unique_ptr<link::Hub> hub_;
  std::map<std::string, int64_t> missing_since_;  // ticks, by id; of Follow
};

}  // namespace stator::server
