package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.api.security.AllowedHosts;
import dev.genv.enforcer.observation.immunity.ProtectedExecutable;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.HostList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Lists in one variable. SmallRye Config itself would convert each entry of a List or Set, so these are Collections. */
@SuppressWarnings("serial")
public final class Lists {
    private Lists() {}

    /** Protected programs. */
    public static final class Programs extends SettingConverter<Collection<ProtectedExecutable>> {
        public Programs() {
            super(
                    "absolute paths, each with @ and a user, with @*, or with neither, such as /opt/bin/server,/opt/bin/worker@alice");
        }

        @Override
        public List<ProtectedExecutable> convert(String value) {
            return entries(value).stream().map(ProtectedExecutable::parse).toList();
        }
    }

    /** Host names of HTTP requests. */
    public static final class HostNames extends SettingConverter<Collection<String>> {
        public HostNames() {
            super("host names without ports, such as gpu-1.example.org,enforcer");
        }

        @Override
        public Set<String> convert(String value) {
            return entries(value).stream().map(AllowedHosts::requireName).collect(Collectors.toUnmodifiableSet());
        }
    }

    /** Machines to enforce on, separated by commas only. For an unset value, SmallRye Config passes an empty one. */
    public static final class Machines extends SettingConverter<@Nullable Collection<HostAddress>> {
        public Machines() {
            super("[user@]host[:port] for each machine, such as gpu-1,raz@gpu-2:2222,[::1]:22");
        }

        @Override
        public @Nullable List<HostAddress> convert(String value) {
            return value.isEmpty() ? null : HostList.parse(value);
        }
    }

    /** Returns the entries of a list, which are separated by commas or blanks. */
    static List<String> entries(String value) {
        return Arrays.stream(value.split("[,\\s]+", -1))
                .filter(entry -> !entry.isEmpty())
                .toList();
    }
}
