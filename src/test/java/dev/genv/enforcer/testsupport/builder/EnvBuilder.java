package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Builds an environment and its attachments; by default of raz (uid 1000) and without a capacity. */
public final class EnvBuilder {
    public static final String TIME = "20/11/2026 09:22:28";

    final Map<Integer, List<Attachment>> attachments = new TreeMap<>();
    private final String eid;
    private final List<Integer> pids = new ArrayList<>();
    private String username = "raz";
    private @Nullable Long uid = 1000L;
    private String capacity;
    private Ownership ownership = Ownership.UNDISPUTED;

    private EnvBuilder(String eid) {
        this.eid = eid;
    }

    public static EnvBuilder env(String eid) {
        return new EnvBuilder(eid);
    }

    public EnvBuilder user(String name) {
        username = name;
        return this;
    }

    public EnvBuilder withoutUsername() {
        return user(null);
    }

    public EnvBuilder withoutUid() {
        uid = null;
        return this;
    }

    public EnvBuilder uid(long number) {
        uid = number;
        return this;
    }

    /** Sets the text of the memory capacity. */
    public EnvBuilder capacity(String text) {
        capacity = text;
        return this;
    }

    public EnvBuilder disputed(String how) {
        ownership = new Ownership(how, false, Set.of());
        return this;
    }

    /** Its live pids are processes of this user. */
    public EnvBuilder livePidsOf(long number) {
        ownership = new Ownership(null, false, Set.of(number));
        return this;
    }

    /** The machine has an account with its user name and its uid. */
    public EnvBuilder account() {
        ownership = new Ownership(
                ownership.dispute(),
                ownership.immunity(),
                ownership.uids(),
                Objects.requireNonNull(username),
                ownership.rangeOwner(),
                ownership.areUidsKnown());
        return this;
    }

    /** All its live pids belong to exempt users. */
    public EnvBuilder exempt() {
        ownership = new Ownership(null, true, Set.of());
        return this;
    }

    /** The real uid of one of its live pids is unknown, or its shell is of another user. */
    EnvBuilder uidsUnknown() {
        ownership = new Ownership(
                ownership.dispute(),
                ownership.immunity(),
                ownership.uids(),
                ownership.account(),
                ownership.rangeOwner(),
                false);
        return this;
    }

    public EnvBuilder pids(int... more) {
        for (var pid : more) {
            pids.add(pid);
        }
        return this;
    }

    public EnvBuilder attached(int... devices) {
        return attachedAt(TIME, devices);
    }

    public EnvBuilder attachedAt(String time, int... devices) {
        for (var device : devices) {
            attachments.computeIfAbsent(device, _ -> new ArrayList<>()).add(new Attachment(eid, null, time));
        }
        return this;
    }

    public Environment build() {
        return new Environment(
                eid, uid, username, TIME, new Environment.Config(null, capacity, null), pids, List.of(), ownership);
    }
}
