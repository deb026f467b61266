// The settings that a copied table gets last: tags, stream, time to live and protection.
#pragma once

#include <string>
#include <vector>

#include "api_client/client.h"
#include "base/result.h"
#include "bulk/scan.h"

namespace stator::bulk {

// Sets on the target's table what the source's has, and leaves what is set already. They come last
// so that none of them acts on the copying. `with_stream`: its stream too. Adds a sentence to
// *notes for each that one of the servers does not have, or that the caller may not read. Blocks
// until the table is ACTIVE.
Status FinishTable(api_client::Client& source, api_client::Client& target,
                   const TableInfo& described, bool with_stream, const api_client::Pause& pause,
                   std::vector<std::string>* notes);

}  // namespace stator::bulk
