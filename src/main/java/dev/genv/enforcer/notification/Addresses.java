package dev.genv.enforcer.notification;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.WatchedFile;
import dev.genv.enforcer.model.SafeText;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;

/** Finds the address of a user. */
public final class Addresses {
    /** Stands for the name of the user in a template. */
    public static final String USER = "{user}";

    private static final String LOCAL = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*";
    private static final String DOMAIN =
            "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*";
    /** With at most 254 characters, 64 of them before the @. */
    private static final Pattern ADDRESS =
            Pattern.compile("(?=.{0,254}$)(?=[^@]{1,64}@)%s@%s".formatted(LOCAL, DOMAIN));

    /** Only these names are the local part of an address without doubt. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*");

    private static final int MOST_REPORTED = 100;

    private final Optional<String> template;
    private final Optional<AddressFile> file;
    private final UserDirectory users;
    /** The users whose names give no address. */
    private final Set<String> unaddressed = ConcurrentHashMap.newKeySet();

    /**
     * @param template the address of users who are not in the file, with {@link #USER}; empty if only the file counts
     * @param file addresses by name or uid; empty for none
     * @param users the accounts of the machines
     */
    public Addresses(Optional<String> template, Optional<AddressFile> file, UserDirectory users) {
        this.template = template;
        this.file = file;
        this.users = users;
    }

    /** Whether it has the plain form {@code local@domain} of RFC 5321, without quotes, comments and names. So it can add no header. */
    public static boolean isAddress(String text) {
        return ADDRESS.matcher(text).matches();
    }

    static String domainOf(String address) {
        return address.substring(address.lastIndexOf('@') + 1);
    }

    /**
     * The address of a user.
     *
     * @param text empty if there is none
     * @param isPending whether there may be one as soon as the user's account is known
     */
    record Address(Optional<String> text, boolean isPending) {}

    /** Returns the address of a uid on these machines. */
    Address of(Set<String> hosts, long uid) {
        var names = users.namesOf(hosts, uid);
        var name = names.size() == 1 ? Optional.of(names.iterator().next()) : Optional.<String>empty();
        var known = file.map(AddressFile::addresses).orElse(Map.of());
        var address = name.map(known::get)
                .or(() -> Optional.ofNullable(known.get(Long.toString(uid))))
                .or(() -> name.filter(user -> NAME.matcher(user).matches())
                        .flatMap(user -> template.map(text -> text.replace(USER, user)))
                        .filter(Addresses::isAddress));
        name.ifPresent(unaddressed::remove);
        name.filter(_ -> template.isPresent() && address.isEmpty() && unaddressed.size() < MOST_REPORTED)
                .ifPresent(unaddressed::add);
        return new Address(address, address.isEmpty() && names.isEmpty());
    }

    /** Returns for whom there is no address although there is a template, as a clause; empty if there is no such user. */
    Optional<String> problem() {
        return unaddressed.stream()
                .min(Comparator.naturalOrder())
                .map(user ->
                        "user %s gets no mail, because the name gives no address with GENV_ENFORCER_MAIL_TO (%d such users): add the user to GENV_ENFORCER_MAIL_ADDRESS_FILE"
                                .formatted(SafeText.escape(user), unaddressed.size()));
    }

    /** A file with {@code name=address} or {@code uid=address} on each line, and {@code #} before comments. It is read again after a change. */
    public static final class AddressFile {
        private static final Logger LOG = Logger.getLogger(AddressFile.class);
        private static final int LARGEST = 4 << 20;
        private static final Pattern ENTRY = Pattern.compile("(?<user>[^=\\s]+)\\s*=\\s*(?<address>\\S+)");

        private final WatchedFile<Map<String, String>> file;
        private Map<String, String> latest = Map.of();
        private String lastProblem = "";

        public AddressFile(Path path) {
            file = new WatchedFile<>(path, LARGEST, AddressFile::parse);
        }

        /** Reads the file. The message of an error has the number of the invalid line. */
        public Map<String, String> read() throws IOException {
            return file.current();
        }

        /** Returns the addresses by name or uid: those that were read last if the file is unusable now. */
        Map<String, String> addresses() {
            try {
                latest = read();
                lastProblem = "";
            } catch (IOException e) {
                var problem = Errno.textOf(e);
                if (!problem.equals(lastProblem)) {
                    LOG.warnf("The file with mail addresses cannot be used, so its former content stays: %s", problem);
                }
                lastProblem = problem;
            }
            return latest;
        }

        private static Map<String, String> parse(byte[] bytes) throws IOException {
            var addresses = new HashMap<String, String>();
            var lines = new String(bytes, StandardCharsets.UTF_8).lines().toList();
            for (var number = 1; number <= lines.size(); number++) {
                var text = lines.get(number - 1).replaceFirst("#.*", "").strip();
                var entry = ENTRY.matcher(text);
                if (entry.matches() && isAddress(entry.group("address"))) {
                    addresses.put(entry.group("user"), entry.group("address"));
                } else if (!text.isEmpty()) {
                    throw new IOException("line %d is not name=address".formatted(number));
                }
            }
            return Map.copyOf(addresses);
        }
    }
}
