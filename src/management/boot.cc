#include "management/boot.h"

#include "base/json_writer.h"
#include "base/time_text.h"
#include "throughput/prices.h"

namespace stator::management {

std::string Boot(const ops::Environment& environment, const BootSettings& settings) {
  JsonWriter json;
  const auto text_or_null = [&json](std::string_view name, const std::string& text) {
    json.Key(name);
    text.empty() ? json.Null() : json.Text(text);
  };
  json.Open('{').Field("version", STATOR_VERSION).Field("engine", settings.engine);
  text_or_null("durability", settings.durability.value_or(""));
  json.Field("region", environment.settings.region).Field("account", environment.settings.account);
  json.Key("accessControl").Bool(settings.access_control).Key("loopback").Bool(settings.loopback);
  json.Key("clock").Open('{').Field("clock", settings.manual_clock ? "manual" : "system");
  json.Field("now", FormatTime(environment.clock.NowMicros())).Close('}');
  json.Field("throttling", throughput::ThrottlingText(environment.admission.modes().all));
  text_or_null("title", settings.title);
  text_or_null("colour", settings.colour);
  json.Key("production").Bool(settings.production).Key("readOnly").Bool(settings.read_only);
  json.Key("features").Open('[');
  for (const std::string& feature : settings.features) json.Text(feature);
  // A month each; on-demand requests have no price that is known here.
  const throughput::UnitPrices prices;
  json.Close(']').Key("prices").Open('{').Field("readUnit", prices.read_unit);
  json.Field("writeUnit", prices.write_unit).Field("gigabyte", prices.gigabyte);
  json.Field("reservedDiscount", prices.reserved_discount).Close('}');
  const throughput::ModelSettings& model = environment.settings.throughput;
  json.Key("partition").Open('{').Field("read", model.partition_read_units);
  json.Field("write", model.partition_write_units).Close('}');
  json.Close('}');
  return json.Take();
}

}  // namespace stator::management
