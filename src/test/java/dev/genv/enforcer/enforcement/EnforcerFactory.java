package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.testsupport.fake.Records;
import java.util.List;

/** Creates enforcers as the service does. */
public final class EnforcerFactory {
    private EnforcerFactory() {}

    public static Enforcer create(
            EnforcerConfig config, Records records, Ticker ticker, List<CycleListener> listeners) {
        var store = new CycleStore(
                records.store(), records.registry(), records.events(), records.deliveries(), records.atStart(), ticker);
        return new Enforcer(config, store, listeners, ticker);
    }
}
