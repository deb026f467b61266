// The settings that a copied table gets last: tags, stream, time to live and protection.
#pragma once

#include <string>
#include <vector>

#include "api_client/client.h"
#include "base/result.h"
#include "bulk/scan.h"

namespace stator::bulk {

// Copies the settings tags, time to live and protection, and if `with_stream` the stream, from the
// source's table to the target's. Leaves settings that the target has already. It is the last step
// of a copy, so that the settings do not affect the copying. Adds a sentence to *notes for each
// setting that one of the servers does not support, or that the caller may not read. Blocks until
// the table is ACTIVE.
Status FinishTable(api_client::Client& source, api_client::Client& target,
                   const TableInfo& described, bool with_stream, const api_client::Pause& pause,
                   std::vector<std::string>* notes);

}  // namespace stator::bulk
