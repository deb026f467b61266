// Exports, imports and bulk puts of one server, and where their objects are.
#pragma once

#include <memory>
#include <utility>

#include "exchange/bulk_puts.h"
#include "exchange/exports.h"
#include "exchange/imports.h"
#include "exchange/object_store.h"
#include "transfer/backups.h"

namespace stator::exchange {

// Operations find this object through the backups (transfer::Companion). A server without backups
// has no Exchange.
class Exchange final : public transfer::Companion {
 public:
  // Reads the stored jobs. The store, the clock and the random source must outlive the object.
  static Result<std::unique_ptr<Exchange>> Open(table::Store& store, const Clock& clock,
                                                Random& random,
                                                std::unique_ptr<ObjectStore> objects,
                                                Options options) {
    std::unique_ptr<Exchange> made(
        new Exchange(store, clock, random, std::move(objects), std::move(options)));
    TRY(made->exports_.Read());
    TRY(made->imports_.Read());
    TRY(made->bulk_puts_.Read());
    return made;
  }
  // Returns that of a server; null if it has none.
  static Exchange* Of(const transfer::Backups* backups) {
    return backups == nullptr ? nullptr : dynamic_cast<Exchange*>(backups->companion());
  }

  void Start() {
    exports_.Start();
    imports_.Start();
    bulk_puts_.Start();
  }
  // To be called before the engine goes. Idempotent.
  void Stop() {
    // First, so that a call that fails now does not fail its job.
    imports_.AskToStop();
    exports_.AskToStop();
    bulk_puts_.AskToStop();
    objects_->Cancel();
    bulk_puts_.Stop();
    imports_.Stop();
    exports_.Stop();
  }
  Exports& exports() { return exports_; }
  Imports& imports() { return imports_; }
  BulkPuts& bulk_puts() { return bulk_puts_; }

 private:
  Exchange(table::Store& store, const Clock& clock, Random& random,
           std::unique_ptr<ObjectStore> objects, Options options)
      : objects_(std::move(objects)),
        exports_(store, clock, random, *objects_, options),
        imports_(store, clock, random, *objects_, options),
        bulk_puts_(store, clock, random, *objects_, options) {}

  const std::unique_ptr<ObjectStore> objects_;
  Exports exports_;
  Imports imports_;
  BulkPuts bulk_puts_;
};

}  // namespace stator::exchange
